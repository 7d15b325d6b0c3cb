//! Kernels with shared memory whose size the launch says: the C++ that is made of them gives what the kernels give on
//! the simulated device, whatever turns the threads take, and no more memory than the launch.

#[path = "../rust_kernels/dynamic/kernels.rs"]
mod kernels;

use std::fmt::Debug;

use thalweg::__private::Kernel;
use thalweg::prelude::*;
use thalweg_tests::on_host::{Argument, OnHost, Outcome, Turns};

use super::blocks::{program, simulated, slice, slice_mut};
use super::in_cpp;
use kernels::{ASKS, asks, bytes_of_several, copies, means, several, turned, unfilled, used};

const ORDERS: std::ops::Range<u64> = 0..6;

/// Launches the C++ with so much shared memory.
fn run<K: Kernel>(
    program: &OnHost,
    (grid, block, shared): (u32, u32, u32),
    order: u64,
    all: &[Argument],
) -> Outcome {
    let turns = Turns::new((grid, 1, 1), (block, 1, 1), shared).order(order);
    let (_, name) = in_cpp::<K>();
    // SAFETY: the arguments are those that the kernel declares, and it is checked that it stays within them.
    unsafe { program.launch(&name, turns, all) }.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Compares what the C++ writes with what the simulated device has written, in every order.
#[track_caller]
fn assert_same<K: Kernel, T: Pod + Debug + PartialEq>(
    launch: (u32, u32, u32),
    first: &[Argument],
    expected: &DeviceBuf<T>,
) {
    let (program, expected) = (program::<K>(), expected.to_vec().unwrap());
    for order in ORDERS {
        let mut found = vec![T::zeroed(); expected.len()];
        let all = [first, &slice_mut(&mut found)].concat();
        assert_eq!(run::<K>(&program, launch, order, &all).faults, []);
        assert_eq!(found, expected, "{launch:?}, order {order}");
    }
}

fn value<T: Pod>(value: T) -> Argument {
    Argument::value(&value)
}

#[test]
fn windows_of_any_width_are_the_same() {
    let (device, stream) = simulated();
    let kernel = means::load(&device).unwrap();
    let x: Vec<f32> = (0..300).map(|i| (i as f32 * 0.37).sin()).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    for (blocks, threads, radius) in [(300, 1, 0), (5, 64, 1), (3, 100, 40), (2, 257, 299)] {
        let launch = (blocks, threads, 4 * (threads + 2 * radius));
        let mut y = DeviceBuf::<f32>::zeroed(&device, 300).unwrap();
        let config = stream.config(launch.0, launch.1, launch.2);
        kernel.launch(config, radius as usize, &on_device, &mut y).unwrap();
        assert_same::<means, f32>(launch, &[&[value(radius as u64)][..], &slice(&x)].concat(), &y);
    }
}

#[test]
fn slices_of_several_types_are_the_same() {
    let (device, stream) = simulated();
    let kernel = several::load(&device).unwrap();
    let x: Vec<u8> = (0..50_u32).map(|i| (i * i % 251) as u8).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    for (n, threads) in [(1, 1), (7, 3), (100, 33), (64, 64)] {
        let needed = bytes_of_several(n, threads as usize) as u32;
        let mut y = DeviceBuf::<u64>::zeroed(&device, 2 * threads as usize).unwrap();
        kernel.launch(stream.config(2, threads, needed), n, &on_device, &mut y).unwrap();
        let first = [&[value(n as u64)][..], &slice(&x)].concat();
        assert_same::<several, u64>((2, threads, needed), &first, &y);
        let mut found = vec![0_u64; 2 * threads as usize];
        let all = [&first[..], &slice_mut(&mut found)].concat();
        let outcome = run::<several>(&program::<several>(), (2, threads, needed - 1), 0, &all);
        assert_eq!(outcome.faults.len(), 2 * threads as usize, "each thread of each block ends");
        assert!(found.iter().all(|&found| found == 0));
    }
}

#[test]
fn what_is_done_with_slices_is_the_same() {
    let (device, stream) = simulated();
    let kernel = used::load(&device).unwrap();
    for n in [1, 2, 9, 40] {
        let launch = (2, 8, 4 * (n + n / 2 + 1));
        let mut y = DeviceBuf::<i32>::zeroed(&device, 16).unwrap();
        kernel.launch(stream.config(launch.0, launch.1, launch.2), n as usize, &mut y).unwrap();
        assert_same::<used, i32>(launch, &[value(u64::from(n))], &y);
    }
}

#[test]
fn copies_are_as_many_as_there_is_room_for() {
    let (device, stream) = simulated();
    let kernel = copies::load(&device).unwrap();
    let x: Vec<u8> = (0..1000_u32).map(|i| (i * 7 % 13) as u8).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    for shared in [0, 15, 16, 40, 128, 1000, 227 << 10] {
        let mut counts = DeviceBuf::<u32>::zeroed(&device, 4).unwrap();
        kernel.launch(stream.config(3, 64, shared), &on_device, &mut counts).unwrap();
        assert_same::<copies, u32>((3, 64, shared), &slice(&x), &counts);
    }
}

#[test]
fn unfilled_memory_and_turned_numbers_are_the_same() {
    let (device, stream) = simulated();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 8).unwrap();
    unfilled::load(&device).unwrap().launch(stream.config(2, 4, 32), &mut y).unwrap();
    assert_same::<unfilled, u32>((2, 4, 32), &[], &y);
    let x: Vec<u32> = (0..14).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 14).unwrap();
    let kernel = turned::load(&device).unwrap();
    kernel.launch(stream.config(2, 7, 28), false, &on_device, &mut y).unwrap();
    assert_same::<turned, u32>((2, 7, 28), &[&[value(0_u8)][..], &slice(&x)].concat(), &y);
}

/// The place of a fault, where the launch has too little memory.
const TOO_LITTLE: u32 = 0xfff << 20;

#[test]
fn too_little_memory_ends_all_threads_at_the_slice() {
    let (device, stream) = simulated();
    let kernel = asks::load(&device).unwrap();
    for (first, second, shared, line) in [
        (5_u64, 4_u64, 40, None),
        (5, 20_000, 160_008, None),
        (5, 5, 40, Some(1)),
        (41, 5, 40, Some(0)),
        (0, 4, 40, Some(0)),
        (5, 0, 40, Some(1)),
        (5, 4, 0, Some(0)),
        (5, 1 << 29, 40, Some(1)),
        (5, (1 << 32) + 1, 40, Some(1)),
        (5, (1 << 61) + 1, 227 << 10, Some(1)),
        (u64::MAX, 1, 40, Some(0)),
    ] {
        let mut expected = DeviceBuf::<u64>::zeroed(&device, 2).unwrap();
        kernel.launch(stream.config(2, 4, shared), first as usize, second as usize, &mut expected).unwrap();
        assert_eq!(stream.synchronize().is_err(), line.is_some());
        let arguments = [value(first), value(second)];
        let Some(line) = line else {
            assert_same::<asks, u64>((2, 4, shared), &arguments, &expected);
            continue;
        };
        let program = program::<asks>();
        for order in ORDERS {
            let mut found = [0_u64; 2];
            let all = [&arguments[..], &slice_mut(&mut found)].concat();
            let outcome = run::<asks>(&program, (2, 4, shared), order, &all);
            let lines: Vec<_> = outcome.faults.iter().map(|fault| fault.line).collect();
            assert_eq!(lines, [TOO_LITTLE | ASKS[line]; 8], "{first}, {second}");
            assert_eq!(found, [0; 2]);
        }
    }
}
