//! Kernels in blocks: the C++ that is made of them gives what the kernels give on the simulated device,
//! whatever turns the threads take.

use thalweg::__private::Kernel;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_host::{Argument, Checks, OnHost, Outcome, Program, Turns};

use super::{FOLDER, in_cpp};

/// The sum of each block's share, and the place of the greatest element in it.
#[kernel]
fn greatest(block: Block, x: &[f32], sums: &mut Out<[f32]>, places: &mut Out<[u64]>) {
    let sum = block.reduce(
        |t| {
            let mut sum = 0.0;
            for i in t.of_grid(x.len()) {
                sum += x[i];
            }
            sum
        },
        |a, b| a + b,
    );
    sums.put(block.index(), sum);
    let (_, place) = block.reduce(
        |t| {
            let mut greatest = (f32::NEG_INFINITY, u64::MAX);
            for i in t.of_grid(x.len()) {
                if x[i] > greatest.0 {
                    greatest = (x[i], i.get() as u64);
                }
            }
            greatest
        },
        |a, b| if b.0 > a.0 || (b.0 == a.0 && b.1 < a.1) { b } else { a },
    );
    places.put(block.index(), place);
}

/// A histogram's bins of a block, counted without atomics: a bin for each thread.
#[kernel]
fn bins(block: Block, rounds: u32, x: &[u8], y: &mut Own<[u16]>) {
    let mut part = block.shared::<[u8; 64]>();
    let mut count = block.private(0_u16);
    let (from, threads) = (block.index().get() * x.len() / block.blocks(), block.threads());
    let until = (block.index().get() + 1) * x.len() / block.blocks();
    let mut at = from;
    while at < until {
        block.fill(&mut part, |i| if at + i < until { x[at + i] } else { 255 });
        block.each(|t| {
            for value in part.iter() {
                count[t] += u16::from(*value as usize % threads == t.rank() && *value != 255);
            }
        });
        at += part.len();
    }
    for round in 0..rounds {
        if !block.any(|t| count[t] as u32 > round) {
            return;
        }
        block.each(|t| {
            if let Some(y) = y.get_mut(t.index()) {
                *y += count[t];
            }
        });
    }
}

/// Powers of a matrix of 8 by 8 in shared memory, one for each block.
#[kernel]
fn powers(block: Block, x: &[i32], y: &mut Out<[i32]>) {
    const SIDE: usize = 8;
    let mut power = block.shared::<[[i32; SIDE]; SIDE]>();
    let mut next = block.shared::<[[i32; SIDE]; SIDE]>();
    block.fill(&mut power, |[r, c]| if r == c { 1 } else { 0 });
    for _ in 0..block.index().get() {
        block.fill(&mut next, |[r, c]| {
            let mut sum = 0_i32;
            for k in 0..SIDE {
                sum = sum.wrapping_add(power[r][k].wrapping_mul(x[k * SIDE + c]));
            }
            sum
        });
        block.fill(&mut power, |at| {
            let [r, c] = at;
            next[r][c]
        });
    }
    let trace = block.reduce(|t| if t.rank() < SIDE { power[t.rank()][t.rank()] } else { 0 }, |a, b| a ^ b);
    y.put(block.index(), trace);
}

/// A loop that waits for what a thread writes which may fail.
#[kernel]
fn waiting(block: Block, fails: u32, x: &[u32], y: &mut Out<[u32]>) {
    let mut left = block.private(x[0]);
    let mut turns = 0;
    while block.any(|t| left[t] > 0) {
        block.each(|t| {
            assert!(t.rank() as u32 != fails || turns < 3);
            left[t] -= 1;
        });
        turns += 1;
    }
    y.put(block.index(), turns);
}

/// Whether all elements of a block's threads are below 9, of which there may be too few.
#[kernel]
fn all_small(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    let all = block.reduce(|t| x[t.index()] < 9, |a, b| a & b);
    y.put(block.index(), if all { 5 } else { 6 });
}

/// A `bool` in what is combined, of threads of which some fail.
#[allow(dead_code, reason = "it is launched as C++ alone")]
#[kernel]
fn flagged(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    let (sum, is_great, are_none) = block.reduce(
        |t| {
            let value = x[t.rank()];
            (value, value > 2, [value == 0; 2])
        },
        |a, b| {
            let [first, second] = a.2;
            (a.0.wrapping_add(b.0), a.1 | b.1, [first & b.2[1], if b.1 { first } else { second }])
        },
    );
    y.put(block.index(), if is_great || are_none[0] { sum } else { 1 });
}

pub(super) fn program<K: Kernel>() -> OnHost {
    let (text, name) = in_cpp::<K>();
    let program = Program {
        file: "blocks.cu",
        text: &text,
        kernels: &[&name],
        checks: Checks::Strict,
        flags: &["-Wno-unused"],
    };
    OnHost::compile(FOLDER, &program).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Launches the C++ with the threads in some order.
pub(super) fn run<K: Kernel>(
    program: &OnHost,
    grid: u32,
    block: u32,
    order: u64,
    arguments: &[Argument],
) -> Outcome {
    let turns = Turns { steps: 50_000_000, ..Turns::new((grid, 1, 1), (block, 1, 1), 0) }.order(order);
    let (_, name) = in_cpp::<K>();
    // SAFETY: the arguments are those that the kernel declares, and it is checked that it stays within them.
    unsafe { program.launch(&name, turns, arguments) }.unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(super) fn simulated() -> (Device, Stream) {
    let device = Device::simulated(Simulation::default());
    let stream = Stream::new(&device).unwrap();
    (device, stream)
}

pub(super) fn slice<T>(x: &[T]) -> [Argument; 2] {
    [Argument::pointer(x.as_ptr()), Argument::value(&(x.len() as u64))]
}

pub(super) fn slice_mut<T>(x: &mut [T]) -> [Argument; 2] {
    [Argument::pointer(x.as_mut_ptr()), Argument::value(&(x.len() as u64))]
}

const SHAPES: [(u32, u32); 7] = [(1, 1), (2, 7), (1, 32), (3, 33), (2, 64), (1, 100), (2, 257)];

#[test]
fn reductions_have_the_same_bits() {
    let (device, stream) = simulated();
    let (kernel, program) = (greatest::load(&device).unwrap(), program::<greatest>());
    for len in [0, 1, 50, 3000] {
        let x: Vec<f32> = (0..len).map(|i| ((i * i) as f32 * 0.37).sin() * 1e3).collect();
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        for (grid, block) in SHAPES {
            let mut sums = DeviceBuf::<f32>::zeroed(&device, grid as usize).unwrap();
            let mut places = DeviceBuf::<u64>::zeroed(&device, grid as usize).unwrap();
            kernel.launch(stream.config(grid, block, 0), &on_device, &mut sums, &mut places).unwrap();
            let expected = (sums.to_vec().unwrap(), places.to_vec().unwrap());
            for order in 0..6 {
                let mut found = (vec![0.0_f32; grid as usize], vec![0_u64; grid as usize]);
                let all = [slice(&x), slice_mut(&mut found.0), slice_mut(&mut found.1)].concat();
                assert_eq!(run::<greatest>(&program, grid, block, order, &all).faults, []);
                assert_eq!(found, expected, "{len} in {grid} x {block}, order {order}");
            }
        }
    }
}

#[test]
fn shared_and_private_variables_are_the_same() {
    let (device, stream) = simulated();
    let (kernel, program) = (bins::load(&device).unwrap(), program::<bins>());
    let x: Vec<u8> = (0..1000_u32).map(|i| (i * 7919 % 251) as u8).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    for (grid, block) in SHAPES {
        let start: Vec<u16> = (0..300).collect();
        let mut y = DeviceBuf::from_slice(&device, &start).unwrap();
        kernel.launch(stream.config(grid, block, 0), 3, &on_device, &mut y).unwrap();
        for order in 0..6 {
            let mut found = start.clone();
            let all = [&[Argument::value(&3_u32)][..], &slice(&x), &slice_mut(&mut found)].concat();
            assert_eq!(run::<bins>(&program, grid, block, order, &all).faults, []);
            assert_eq!(found, y.to_vec().unwrap(), "{grid} x {block}, order {order}");
        }
    }
}

#[test]
fn arrays_are_filled_from_each_other() {
    let (device, stream) = simulated();
    let (kernel, program) = (powers::load(&device).unwrap(), program::<powers>());
    let x: Vec<i32> = (0..64).map(|i| i * 37 % 19 - 9).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    for block in [1, 8, 31, 64, 100] {
        let mut y = DeviceBuf::<i32>::zeroed(&device, 6).unwrap();
        kernel.launch(stream.config(6, block, 0), &on_device, &mut y).unwrap();
        for order in 0..6 {
            let mut found = vec![0; 6];
            let all = [slice(&x), slice_mut(&mut found)].concat();
            assert_eq!(run::<powers>(&program, 6, block, order, &all).faults, []);
            assert_eq!(found, y.to_vec().unwrap(), "{block}, order {order}");
        }
    }
}

/// A thread that has failed writes nothing more. The others of its block do not wait for it.
#[test]
fn a_block_ends_after_a_fault_of_a_thread() {
    let (device, stream) = simulated();
    let (kernel, program) = (waiting::load(&device).unwrap(), program::<waiting>());
    let x = DeviceBuf::from_slice(&device, &[5_u32]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 1).unwrap();
    kernel.launch(stream.config(1, 64, 0), u32::MAX, &x, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [5]);
    for (fails, faults) in [(u32::MAX, 0), (0, 1), (33, 1), (63, 1)] {
        for order in 0..6 {
            let (x, mut y) = ([5_u32], [0_u32]);
            let all = [&[Argument::value(&fails)][..], &slice(&x), &slice_mut(&mut y)].concat();
            let outcome = run::<waiting>(&program, 1, 64, order, &all);
            assert_eq!(outcome.faults.len(), faults, "{fails}");
            assert_eq!(y[0], if faults == 0 { 5 } else { 0 }, "{fails}");
        }
    }
}

/// What a lane that is not there, or that has failed, leaves to its neighbours may be no `bool` at all.
#[test]
fn bools_are_reduced_beside_lanes_that_are_not_there() {
    let (device, stream) = simulated();
    let (kernel, program) = (all_small::load(&device).unwrap(), program::<all_small>());
    for (threads, greatest) in [(1, 8), (7, 9), (33, 8), (40, 9), (64, 8)] {
        let x: Vec<u32> = (0..2 * threads).map(|i| if i == threads { greatest } else { i % 9 }).collect();
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        let mut y = DeviceBuf::<u32>::zeroed(&device, 2).unwrap();
        kernel.launch(stream.config(2, threads, 0), &on_device, &mut y).unwrap();
        let expected = [5, if greatest < 9 { 5 } else { 6 }];
        assert_eq!(y.to_vec().unwrap(), expected);
        for order in 0..6 {
            let mut found = vec![0; 2];
            let all = [slice(&x), slice_mut(&mut found)].concat();
            assert_eq!(run::<all_small>(&program, 2, threads, order, &all).faults, []);
            assert_eq!(found, expected, "{threads}, order {order}");
            // The last lane of the second block has no element.
            let mut found = vec![0; 2];
            let all = [slice(&x[1..]), slice_mut(&mut found)].concat();
            assert_eq!(run::<all_small>(&program, 2, threads, order, &all).faults.len(), 1);
            assert_eq!(found[1], 0);
        }
    }
}

#[test]
fn the_bool_of_a_thread_that_has_failed_is_combined_with_none() {
    let program = program::<flagged>();
    for threads in [32, 40, 64] {
        for order in 0..3 {
            let (x, mut y) = ([1_u32, 2, 3, 0, 5], [7_u32]);
            let all = [slice(&x), slice_mut(&mut y)].concat();
            let faults = run::<flagged>(&program, 1, threads, order, &all).faults;
            assert_eq!((faults.len(), y), (threads as usize - x.len(), [7]), "order {order}");
        }
    }
}
