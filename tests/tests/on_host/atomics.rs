//! Kernels with atomics: the C++ that is made of them gives what the kernels give on the simulated device,
//! whatever turns the threads take.

#[path = "../rust_kernels/atomics/kernels.rs"]
mod kernels;

use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;

use super::blocks::{program, run, simulated, slice, slice_mut};
use kernels::{histogram, in_order, matched, of_f32, of_f64, of_i32, of_i64, of_u32, of_u64, shared, tops};

const ORDERS: std::ops::Range<u64> = 0..6;

#[test]
fn a_histogram_is_the_same() {
    let (device, stream) = simulated();
    let (kernel, program) = (histogram::load(&device).unwrap(), program::<histogram>());
    let x: Vec<u8> = (0..3000_u32).map(|i| (i * i % 251) as u8).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    for (grid, block) in [(1, 1), (2, 32), (3, 100), (4, 256)] {
        let mut counts = DeviceBuf::<u32>::zeroed(&device, 256).unwrap();
        kernel.launch(stream.config(grid, block, 0), &on_device, &mut counts).unwrap();
        let counts = counts.to_vec().unwrap();
        assert_eq!(counts.iter().sum::<u32>(), 3000);
        for order in ORDERS {
            let mut found = vec![0_u32; 256];
            let all = [slice(&x), slice_mut(&mut found)].concat();
            assert_eq!(run::<histogram>(&program, grid, block, order, &all).faults, []);
            assert_eq!(found, counts, "{grid} x {block}, order {order}");
        }
    }
}

#[test]
fn what_threads_append_is_the_same_in_another_order() {
    let (device, stream) = simulated();
    let (kernel, program) = (tops::load(&device).unwrap(), program::<tops>());
    let x: Vec<f32> = (0..500).map(|i| (i as f32 * 0.37).sin()).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    let (mut greatest, mut next) =
        (DeviceBuf::from_slice(&device, &[f32::NAN]).unwrap(), DeviceBuf::<u32>::zeroed(&device, 1).unwrap());
    let mut kept = DeviceBuf::<f32>::zeroed(&device, 500).unwrap();
    kernel.launch(stream.config(4, 128, 0), &on_device, 0.5, &mut greatest, &mut next, &mut kept).unwrap();
    let sorted = |mut all: Vec<f32>| {
        all.sort_by(f32::total_cmp);
        all
    };
    let expected = (greatest.to_vec().unwrap(), next.to_vec().unwrap(), sorted(kept.to_vec().unwrap()));
    for order in ORDERS {
        let mut found = (vec![f32::NAN], vec![0_u32], vec![0.0_f32; 500]);
        let [greatest, next, kept] =
            [slice_mut(&mut found.0), slice_mut(&mut found.1), slice_mut(&mut found.2)];
        let all = [&slice(&x)[..], &[Argument::value(&0.5_f32)], &greatest, &next, &kept].concat();
        assert_eq!(run::<tops>(&program, 4, 128, order, &all).faults, []);
        assert_eq!((found.0, found.1, sorted(found.2)), expected, "order {order}");
    }
}

/// Compares the methods of one type of atomic, each thread's on its own, bit by bit.
macro_rules! compared {
    ($kernel:ident, $number:ident, $found:literal, $value:expr) => {{
        let (device, stream) = simulated();
        let (kernel, program) = ($kernel::load(&device).unwrap(), program::<$kernel>());
        let value: fn(u64) -> $number = $value;
        let mut random = thalweg_tests::random::Random::new(7);
        let mut some = |count: usize| -> Vec<$number> {
            (0..count).map(|_| value(random.bits() >> random.below(64))).collect()
        };
        let (x, own) = (some(2 * 96), some(96));
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        let mut on_own = DeviceBuf::from_slice(&device, &own).unwrap();
        let mut expected = DeviceBuf::<$number>::zeroed(&device, $found * 96).unwrap();
        kernel.launch(stream.config(3, 32, 0), &on_device, &mut on_own, &mut expected).unwrap();
        let bits = |numbers: &[$number]| -> Vec<u8> { thalweg::bytemuck::cast_slice(numbers).to_vec() };
        let (expected, on_own) = (expected.to_vec().unwrap(), on_own.to_vec().unwrap());
        let (mut own, mut found) = (own, vec![value(0); $found * 96]);
        let all = [
            [Argument::pointer(x.as_ptr()), Argument::value(&96_u64)],
            slice_mut(&mut own),
            [Argument::pointer(found.as_mut_ptr()), Argument::value(&96_u64)],
        ]
        .concat();
        assert_eq!(run::<$kernel>(&program, 3, 32, 0, &all).faults, []);
        assert_eq!(found, expected);
        assert_eq!([bits(&found), bits(&own)], [bits(&expected), bits(&on_own)]);
    }};
}

#[test]
fn methods_of_integers_have_the_same_bits() {
    compared!(of_u32, u32, 14, |bits| bits as u32);
    compared!(of_i32, i32, 14, |bits| bits as i32);
    compared!(of_u64, u64, 14, |bits| bits);
    compared!(of_i64, i64, 14, |bits| bits as i64);
}

/// Numbers that are no NaN, and of which no two are zeros.
#[test]
fn methods_of_floats_have_the_same_bits() {
    compared!(of_f32, f32, 8, |bits| bits as i64 as f32 * 1e-7 + 1e-12);
    compared!(of_f64, f64, 8, |bits| bits as i64 as f64 * 1e-7 + 1e-12);
}

#[test]
fn shared_atomics_are_the_same() {
    let (device, stream) = simulated();
    let (kernel, program) = (shared::load(&device).unwrap(), program::<shared>());
    let x: Vec<i64> = (0..100).map(|i| i * 37 % 91 - 40).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    for block in [1, 7, 33, 100] {
        let mut totals = DeviceBuf::<i64>::zeroed(&device, 6).unwrap();
        let mut floats = DeviceBuf::<f64>::zeroed(&device, 2).unwrap();
        kernel.launch(stream.config(2, block, 0), &on_device, &mut totals, &mut floats).unwrap();
        let expected = (totals.to_vec().unwrap(), floats.to_vec().unwrap());
        for order in ORDERS {
            let mut found = (vec![0_i64; 6], vec![0.0_f64; 2]);
            let all = [slice(&x), slice_mut(&mut found.0), slice_mut(&mut found.1)].concat();
            assert_eq!(run::<shared>(&program, 2, block, order, &all).faults, []);
            assert_eq!(found, expected, "{block}, order {order}");
        }
    }
}

#[test]
fn accesses_come_in_the_order_in_which_they_are_written() {
    let (device, stream) = simulated();
    let kernel = in_order::load(&device).unwrap();
    let program = program::<in_order>();
    let x = [70_u32, 71, 72, 73, 74];
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    let mut own = DeviceBuf::from_slice(&device, &[0_u32, 1]).unwrap();
    let mut expected = DeviceBuf::<u32>::zeroed(&device, 8).unwrap();
    kernel.launch(stream.config(1, 1, 0), &on_device, &mut own, &mut expected).unwrap();
    let (mut found_own, mut found) = ([0_u32, 1], [0_u32; 8]);
    let all = [
        slice(&x),
        slice_mut(&mut found_own),
        [Argument::pointer(found.as_mut_ptr()), Argument::value(&1_u64)],
    ]
    .concat();
    assert_eq!(run::<in_order>(&program, 1, 1, 0, &all).faults, []);
    assert_eq!((&found[..], &found_own[..]), (&expected.to_vec().unwrap()[..], &own.to_vec().unwrap()[..]));
}

#[test]
fn the_outcome_of_an_exchange_is_matched() {
    let (device, stream) = simulated();
    let (kernel, program) = (matched::load(&device).unwrap(), program::<matched>());
    let x: Vec<u32> = (0..40).collect();
    let own: Vec<u32> = (0..40).map(|i| i / 3 * 3).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    let mut on_own = DeviceBuf::from_slice(&device, &own).unwrap();
    let mut expected = DeviceBuf::<u32>::zeroed(&device, 160).unwrap();
    kernel.launch(stream.config(2, 32, 0), &on_device, &mut on_own, &mut expected).unwrap();
    let expected = expected.to_vec().unwrap();
    // The element 3 is 3, and 4 is not.
    assert_eq!(expected[12..20], [1003, 507, 1, 10, 2003, 3, 1, 10]);
    let (mut own, mut found) = (own, vec![0_u32; 160]);
    let found_in_cpp = [Argument::pointer(found.as_mut_ptr()), Argument::value(&40_u64)];
    let all = [slice(&x), slice_mut(&mut own), found_in_cpp].concat();
    assert_eq!(run::<matched>(&program, 2, 32, 0, &all).faults, []);
    assert_eq!((found, own), (expected, on_own.to_vec().unwrap()));
}
