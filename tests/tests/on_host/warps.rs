//! Operations of warps: the C++ that is made of them gives what they give on the simulated device, whatever turns the
//! threads take.

#[path = "../rust_kernels/warps/kernels.rs"]
mod kernels;

use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;

use super::blocks::{program, run, simulated, slice, slice_mut};
use kernels::{appended, beyond, exchanged, of_sizes};

const SHAPES: [(u32, u32); 7] = [(1, 1), (2, 7), (1, 32), (2, 33), (1, 100), (1, 257), (1, 1024)];

#[test]
fn lanes_exchange_the_same_values() {
    let (device, stream) = simulated();
    let (kernel, program) = (exchanged::load(&device).unwrap(), program::<exchanged>());
    for (grid, block) in SHAPES {
        let x: Vec<u32> = (0..grid * block).map(|i| (i.wrapping_mul(0x9e37_79b9) ^ i) >> 8).collect();
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        for by in [0, 1, 5, 31, 32, usize::MAX] {
            let mut y = DeviceBuf::<u32>::zeroed(&device, 10 * x.len()).unwrap();
            kernel.launch(stream.config(grid, block, 0), by, &on_device, &mut y).unwrap();
            let expected = y.to_vec().unwrap();
            for order in 0..3 {
                let mut found = vec![0_u32; 10 * x.len()];
                // Lengths are counted in elements, which are arrays.
                let written = [Argument::pointer(found.as_mut_ptr()), Argument::value(&(x.len() as u64))];
                let all = [&[Argument::value(&(by as u64))][..], &slice(&x), &written].concat();
                assert_eq!(run::<exchanged>(&program, grid, block, order, &all).faults, []);
                assert_eq!(found, expected, "{grid} x {block}, by {by}, order {order}");
            }
        }
    }
}

#[test]
fn values_of_any_size_are_the_same() {
    let (device, stream) = simulated();
    let (kernel, program) = (of_sizes::load(&device).unwrap(), program::<of_sizes>());
    for (grid, block) in SHAPES {
        let x: Vec<f64> = (0..grid * block).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        let mut y = DeviceBuf::<f64>::zeroed(&device, 4 * x.len()).unwrap();
        kernel.launch(stream.config(grid, block, 0), &on_device, &mut y).unwrap();
        let expected: Vec<u64> = y.to_vec().unwrap().iter().map(|y| y.to_bits()).collect();
        for order in 0..3 {
            let mut found = vec![0.0_f64; 4 * x.len()];
            let written = [Argument::pointer(found.as_mut_ptr()), Argument::value(&(x.len() as u64))];
            let all = [slice(&x), written].concat();
            assert_eq!(run::<of_sizes>(&program, grid, block, order, &all).faults, []);
            let found: Vec<u64> = found.iter().map(|y| y.to_bits()).collect();
            assert_eq!(found, expected, "{grid} x {block}, order {order}");
        }
    }
}

#[test]
fn what_warps_append_is_the_same_in_another_order() {
    let (device, stream) = simulated();
    let (kernel, program) = (appended::load(&device).unwrap(), program::<appended>());
    let x: Vec<f32> = (0..500).map(|i| (i as f32 * 0.37).sin()).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    let mut next = DeviceBuf::<u32>::zeroed(&device, 1).unwrap();
    let mut kept = DeviceBuf::<f32>::zeroed(&device, 500).unwrap();
    kernel.launch(stream.config(5, 100, 0), 0.5, &on_device, &mut next, &mut kept).unwrap();
    let sorted = |mut all: Vec<f32>| {
        all.sort_by(f32::total_cmp);
        all
    };
    let expected = (next.to_vec().unwrap(), sorted(kept.to_vec().unwrap()));
    for order in 0..6 {
        let mut found = (vec![0_u32], vec![0.0_f32; 500]);
        let [next, kept] = [slice_mut(&mut found.0), slice_mut(&mut found.1)];
        let all = [&[Argument::value(&0.5_f32)][..], &slice(&x), &next, &kept].concat();
        assert_eq!(run::<appended>(&program, 5, 100, order, &all).faults, []);
        assert_eq!((found.0, sorted(found.1)), expected, "order {order}");
    }
}

/// The thread that names the lane ends, and so does its block. Nobody reads a lane that has ended.
#[test]
fn a_lane_that_does_not_exist_is_a_fault() {
    let (device, stream) = simulated();
    let (kernel, program) = (beyond::load(&device).unwrap(), program::<beyond>());
    let x = [3_u32; 40];
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 40).unwrap();
    kernel.launch(stream.config(1, 40, 0), 99, 0, &on_device, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), x);
    for (fails, lane) in [(0_u32, 32_u64), (35, 8), (39, u64::MAX), (99, 0)] {
        for order in 0..6 {
            let mut y = [0_u32; 40];
            let values = [Argument::value(&fails), Argument::value(&lane)];
            let all = [&values[..], &slice(&x), &slice_mut(&mut y)].concat();
            let faults = run::<beyond>(&program, 1, 40, order, &all).faults;
            let threads: Vec<u32> = faults.iter().map(|fault| fault.thread[0]).collect();
            match fails {
                99 => assert_eq!((threads.as_slice(), y), (&[][..], x)),
                _ => assert_eq!((threads.as_slice(), y), (&[fails][..], [0; 40]), "order {order}"),
            }
        }
    }
}
