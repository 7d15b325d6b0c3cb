//! Labels, loops with values and conditions of several parts: the C++ gives what the simulated device gives.

use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;
use thalweg_tests::random::Random;

use super::blocks::{program, run, simulated, slice, slice_mut};

#[path = "../rust_kernels/jumped.rs"]
mod kernels;

use kernels::{chained, chosen, collatz, in_phases, searched};

/// Numbers below a limit, which the same seed gives again.
fn numbers(random: &mut Random, len: usize, limit: u64) -> Vec<u32> {
    (0..len).map(|_| random.below(limit) as u32).collect()
}

#[test]
fn outer_loops_are_left_and_continued() {
    let (device, stream) = simulated();
    let (kernel, program) = (searched::load(&device).unwrap(), program::<searched>());
    let mut random = Random::new(5);
    for (width, rows, limit) in [(1, 0, 5), (1, 9, 16), (7, 5, 20), (16, 20, 16), (30, 30, 300)] {
        let table = numbers(&mut random, width * rows, limit);
        let least = numbers(&mut random, 50, 2 * limit);
        let mut y = DeviceBuf::<u64>::zeroed(&device, 50).unwrap();
        let [on_table, on_least] = [&table, &least].map(|data| DeviceBuf::from_slice(&device, data).unwrap());
        kernel.launch(stream.config(2, 32, 0), width, &on_table, &on_least, &mut y).unwrap();
        let mut found = vec![0_u64; 50];
        let width = [Argument::value(&(width as u64))];
        let all = [&width[..], &slice(&table), &slice(&least), &slice_mut(&mut found)].concat();
        assert_eq!(run::<searched>(&program, 2, 32, 0, &all).faults, []);
        assert_eq!(found, y.to_vec().unwrap(), "{rows} rows below {limit}");
    }
}

#[test]
fn loops_and_blocks_have_values() {
    let (device, stream) = simulated();
    let (kernel, program) = (collatz::load(&device).unwrap(), program::<collatz>());
    let x: Vec<u32> = (1..300).chain([837_799, 999_999]).collect();
    let on_x = DeviceBuf::from_slice(&device, &x).unwrap();
    for most in [0, 1, 9, 60, 1000] {
        let mut y = DeviceBuf::<u32>::zeroed(&device, x.len()).unwrap();
        kernel.launch(stream.config(10, 32, 0), most, &on_x, &mut y).unwrap();
        let mut found = vec![0_u32; x.len()];
        let all = [&[Argument::value(&most)][..], &slice(&x), &slice_mut(&mut found)].concat();
        assert_eq!(run::<collatz>(&program, 10, 32, 0, &all).faults, []);
        assert_eq!(found, y.to_vec().unwrap(), "{most}");
    }
}

#[test]
fn conditions_are_asked_one_after_the_other() {
    let (device, stream) = simulated();
    let (kernel, program) = (chained::load(&device).unwrap(), program::<chained>());
    let mut random = Random::new(6);
    for (a_len, b_len, limit) in [(0, 0, 9), (5, 0, 9), (0, 20, 9), (30, 20, 25), (40, 40, 1000)] {
        let (a, b) = (numbers(&mut random, a_len, 30), numbers(&mut random, b_len, 40));
        let start = numbers(&mut random, 64, 50);
        let [on_a, on_b] = [&a, &b].map(|data| DeviceBuf::from_slice(&device, data).unwrap());
        let mut y = DeviceBuf::from_slice(&device, &start).unwrap();
        kernel.launch(stream.config(3, 32, 0), limit, &on_a, &on_b, &mut y).unwrap();
        let mut found = start.clone();
        let all = [&[Argument::value(&limit)][..], &slice(&a), &slice(&b), &slice_mut(&mut found)].concat();
        assert_eq!(run::<chained>(&program, 3, 32, 0, &all).faults, []);
        assert_eq!(found, y.to_vec().unwrap(), "{a_len}, {b_len}, {limit}");
    }
}

#[test]
fn labels_are_within_phases_and_around_them() {
    let (device, stream) = simulated();
    let (kernel, program) = (in_phases::load(&device).unwrap(), program::<in_phases>());
    let x: Vec<u32> = (0..20).map(|i| i * 13 % 17).collect();
    let on_x = DeviceBuf::from_slice(&device, &x).unwrap();
    for (most, grid, block) in [(0, 1, 8), (1, 2, 7), (3, 1, 33), (9, 2, 32)] {
        let mut y = DeviceBuf::<u32>::zeroed(&device, 40).unwrap();
        kernel.launch(stream.config(grid, block, 0), most, &on_x, &mut y).unwrap();
        for order in 0..4 {
            let mut found = vec![0_u32; 40];
            let all = [&[Argument::value(&most)][..], &slice(&x), &slice_mut(&mut found)].concat();
            assert_eq!(run::<in_phases>(&program, grid, block, order, &all).faults, []);
            assert_eq!(found, y.to_vec().unwrap(), "{most} rounds, order {order}");
        }
    }
}

#[test]
fn a_choice_may_be_of_a_type_that_rustc_alone_knows() {
    let (device, stream) = simulated();
    let (kernel, program) = (chosen::load(&device).unwrap(), program::<chosen>());
    let x: Vec<f32> = (0..40).map(|i| i as f32 * 0.7 - 9.0).collect();
    let on_x = DeviceBuf::from_slice(&device, &x).unwrap();
    let mut y = DeviceBuf::<f64>::zeroed(&device, 40).unwrap();
    kernel.launch(stream.config(2, 32, 0), &on_x, &mut y).unwrap();
    let mut found = vec![0.0_f64; 40];
    let all = [slice(&x), slice_mut(&mut found)].concat();
    assert_eq!(run::<chosen>(&program, 2, 32, 0, &all).faults, []);
    assert_eq!(found, y.to_vec().unwrap());
}
