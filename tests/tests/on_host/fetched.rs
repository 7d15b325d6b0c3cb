//! Fills in two halves: the C++ that is made of them gives what they give on the simulated device, whatever turns the
//! threads take.

#[path = "../rust_kernels/fetched/kernels.rs"]
mod kernels;

use thalweg::kernel::Shaped;
use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;

use super::blocks::{program, run, simulated, slice, slice_mut};
use super::tiles::{run as run_on_axes, shaped};
use kernels::{product, reversed, turned};

#[test]
fn what_is_fetched_from_shared_memory_is_read_before_it_is_written() {
    let (device, stream) = simulated();
    let (kernel, program) = (turned::load(&device).unwrap(), program::<turned>());
    let x: Vec<u32> = (0..100_u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    for rounds in [0_u32, 1, 5] {
        let mut y = DeviceBuf::<u32>::zeroed(&device, 96).unwrap();
        kernel.launch(stream.config(2, 48, 0), rounds, &on_device, &mut y).unwrap();
        let expected = y.to_vec().unwrap();
        for order in 0..6 {
            let mut found = vec![0_u32; 96];
            let all = [&[Argument::value(&rounds)][..], &slice(&x), &slice_mut(&mut found)].concat();
            assert_eq!(run::<turned>(&program, 2, 48, order, &all).faults, []);
            assert_eq!(found, expected, "{rounds} rounds, order {order}");
        }
    }
    // A thread that has ended has fetched nothing, and nobody waits for it.
    let mut found = vec![0_u32; 48];
    let all = [&[Argument::value(&2_u32)][..], &slice(&x[..90]), &slice_mut(&mut found)].concat();
    assert!(!run::<turned>(&program, 1, 48, 0, &all).faults.is_empty());
    assert_eq!(found, [0; 48]);
}

#[test]
fn products_with_strips_fetched_ahead_are_the_same() {
    let (device, stream) = simulated();
    let (kernel, program) = (product::load(&device).unwrap(), program::<product>());
    for [m, n, k] in [[1, 1, 1], [12, 12, 5], [13, 25, 11], [2, 3, 0]] {
        let data = |len: usize| (0..len).map(|i| (i as f32 * 0.37).sin()).collect::<Vec<_>>();
        let (a, b) = (data(m * k), data(k * n));
        let [on_device, other] = [&a, &b].map(|x| DeviceBuf::from_slice(&device, x).unwrap());
        for grid in [(1, 1, 1), (2, 3, 1)] {
            let mut c = DeviceBuf::<f32>::zeroed(&device, m * n).unwrap();
            let c_as = Shaped::new(&mut c, [m, n]);
            kernel.launch(stream.config(grid, 9, 0), k, &on_device, &other, c_as).unwrap();
            let expected = c.to_vec().unwrap();
            for order in 0..4 {
                let mut found = vec![0.0_f32; m * n];
                let depth = [Argument::value(&(k as u64))];
                let all = [&depth[..], &slice(&a), &slice(&b), &shaped(&mut found, [m, n])].concat();
                assert_eq!(run_on_axes::<product>(&program, grid, 9, order, &all).faults, []);
                assert_eq!(found, expected, "{m} x {n}, {k}");
            }
        }
    }
}

#[test]
fn what_is_fetched_is_read_before_the_next_phase_writes() {
    let (device, stream) = simulated();
    let (kernel, program) = (reversed::load(&device).unwrap(), program::<reversed>());
    let x: Vec<u32> = (0..200_u32).map(|i| i * 7919 % 1009).collect();
    let mut y = DeviceBuf::from_slice(&device, &x).unwrap();
    kernel.launch(stream.config(2, 48, 0), &mut y).unwrap();
    let expected = y.to_vec().unwrap();
    for order in 0..6 {
        let mut found = x.clone();
        let all = slice_mut(&mut found);
        assert_eq!(run::<reversed>(&program, 2, 48, order, &all).faults, []);
        assert_eq!(found, expected, "order {order}");
    }
}
