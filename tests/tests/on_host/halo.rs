//! Elements beyond the ends of the data: the C++ gives what the simulated device gives.

use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;

use super::blocks::{program, run, simulated, slice, slice_mut};

#[path = "../rust_kernels/halo.rs"]
mod kernels;

use kernels::{fetched, near, of_block};

#[test]
fn neighbours_are_the_same() {
    let (device, stream) = simulated();
    let (kernel, program) = (near::load(&device).unwrap(), program::<near>());
    for len in [1, 2, 31, 32, 33, 100] {
        let x: Vec<f32> = (0..len).map(|i| (i as f32 * 0.37).sin()).collect();
        let on_x = DeviceBuf::from_slice(&device, &x).unwrap();
        let mut y = DeviceBuf::<f32>::zeroed(&device, len).unwrap();
        kernel.launch(stream.config(4, 32, 0), &on_x, &mut y).unwrap();
        let mut found = vec![0.0_f32; len];
        let all = [slice(&x), slice_mut(&mut found)].concat();
        assert_eq!(run::<near>(&program, 4, 32, 0, &all).faults, []);
        assert_eq!(found, y.to_vec().unwrap(), "{len}");
    }
}

#[test]
fn what_stands_in_is_the_same() {
    let (device, stream) = simulated();
    let (kernel, program) = (fetched::load(&device).unwrap(), program::<fetched>());
    for len in [1, 6, 40] {
        let x: Vec<u64> = (0..len).map(|i| i * i % 23).collect();
        let table = [3, 1 << 20, 77, len];
        let on_x = DeviceBuf::from_slice(&device, &x).unwrap();
        let mut y = DeviceBuf::<u64>::zeroed(&device, x.len()).unwrap();
        kernel.launch(stream.config(2, 32, 0), &on_x, table, &mut y).unwrap();
        let mut found = vec![0_u64; x.len()];
        let all = [&slice(&x)[..], &[Argument::value(&table)], &slice_mut(&mut found)].concat();
        assert_eq!(run::<fetched>(&program, 2, 32, 0, &all).faults, []);
        assert_eq!(found, y.to_vec().unwrap(), "{len}");
    }
}

#[test]
fn a_shared_array_has_the_same_elements() {
    let (device, stream) = simulated();
    let (kernel, program) = (of_block::load(&device).unwrap(), program::<of_block>());
    for (len, threads) in [(1, 8), (9, 8), (64, 8), (30, 5)] {
        let x: Vec<i32> = (0..len).map(|i| i * 37 % 91 - 40).collect();
        let on_x = DeviceBuf::from_slice(&device, &x).unwrap();
        let mut y = DeviceBuf::<i32>::zeroed(&device, 8 * threads as usize).unwrap();
        kernel.launch(stream.config(8, threads, 0), &on_x, &mut y).unwrap();
        let y = y.to_vec().unwrap();
        for order in 0..4 {
            let mut found = vec![0_i32; y.len()];
            let all = [slice(&x), slice_mut(&mut found)].concat();
            assert_eq!(run::<of_block>(&program, 8, threads, order, &all).faults, []);
            assert_eq!(found, y, "{len} elements, {threads} threads");
        }
    }
}
