//! Kernels for several numbers: the C++ gives what the simulated device gives.

use thalweg::__private::Kernel;
use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;

use super::blocks::{program, run, simulated, slice, slice_mut};

#[path = "../rust_kernels/sized.rs"]
mod kernels;

use kernels::{blurred, ranged, tiled};

const LEN: usize = 70;

/// Runs the C++ on so many floats, and compares what it writes.
#[track_caller]
fn assert_same<K: Kernel>(grid: u32, block: u32, before: &[Argument], expected: &DeviceBuf<f32>) {
    let program = program::<K>();
    for order in 0..3 {
        let mut found = vec![0.0_f32; LEN];
        let all = [before, &slice_mut(&mut found)].concat();
        assert_eq!(run::<K>(&program, grid, block, order, &all).faults, []);
        assert_eq!(found, expected.to_vec().unwrap(), "{}", K::INFO.name);
    }
}

#[test]
fn each_number_has_its_kernel() {
    let (device, stream) = simulated();
    let x: Vec<f32> = (0..LEN).map(|i| (i * i % 37) as f32 * 0.3).collect();
    let on_x = DeviceBuf::from_slice(&device, &x).unwrap();
    macro_rules! check {
        ($number:literal) => {{
            let weights: [f32; $number] = std::array::from_fn(|j| 0.1 + j as f32);
            let mut y = DeviceBuf::<f32>::zeroed(&device, LEN).unwrap();
            let kernel = blurred::<$number>::load(&device).unwrap();
            kernel.launch(stream.config(3, 32, 0), &on_x, weights, &mut y).unwrap();
            let before = [&slice(&x)[..], &[Argument::value(&weights)]].concat();
            assert_same::<blurred<$number>>(3, 32, &before, &y);
        }};
    }
    check!(3);
    check!(5);
}

#[test]
fn numbers_are_the_ends_of_ranges() {
    let (device, stream) = simulated();
    let x: Vec<f32> = (0..LEN + 4).map(|i| (i * i % 37) as f32 * 0.3).collect();
    let on_x = DeviceBuf::from_slice(&device, &x).unwrap();
    macro_rules! check {
        ($ty:ty, $number:literal) => {{
            let mut y = DeviceBuf::<f32>::zeroed(&device, LEN).unwrap();
            let kernel = ranged::<$ty, $number>::load(&device).unwrap();
            kernel.launch(stream.config(3, 32, 0), &on_x, &mut y).unwrap();
            assert_same::<ranged<$ty, $number>>(3, 32, &slice(&x), &y);
        }};
    }
    check!(u8, 3);
    check!(i16, 4);
}

#[test]
fn numbers_are_lengths_of_shared_arrays() {
    let (device, stream) = simulated();
    macro_rules! check {
        ($ty:ty, $number:literal) => {{
            let x: Vec<$ty> = (0..40).map(|i| (i * i % 37) as $ty * 0.3).collect();
            let on_x = DeviceBuf::from_slice(&device, &x).unwrap();
            let mut y = DeviceBuf::<f32>::zeroed(&device, LEN).unwrap();
            let kernel = tiled::<$ty, $number>::load(&device).unwrap();
            kernel.launch(stream.config(2, 33, 0), &on_x, &mut y).unwrap();
            assert_same::<tiled<$ty, $number>>(2, 33, &slice(&x), &y);
        }};
    }
    check!(f32, 1);
    check!(f32, 7);
    check!(f64, 2);
}
