//! Kernels in blocks whose meaning depends on what Rust evaluates, and when.

use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;

use super::blocks::{program, run, simulated, slice, slice_mut};

/// Assignments to parts of parts.
#[kernel]
fn parted(block: Block, x: &[u32], y: &mut Own<[u32]>) {
    let (mut a, mut b, mut c) = (1, 2, 3);
    ((a, b), c) = ((b, c), a);
    [a, b] = [b, a];
    (a, [b, c]) = (c, [a, b]);
    let mut pairs = block.private([0_u32; 2]);
    block.each(|t| {
        let d;
        ([pairs[t][0], pairs[t][1]], d) = ([x[t.rank()], a], b);
        if let Some(y) = y.get_mut(t.index()) {
            *y = pairs[t][0] * 1000 + pairs[t][1] * 100 + c * 10 + d;
        }
    });
}

/// The guard of an arm that does not match is not evaluated.
#[kernel]
fn guarded(block: Block, x: &[u32], y: &mut Own<[u32]>) {
    let mut turns = block.private(x[0]);
    let mut sum = 0;
    for k in 0..4_u32 {
        sum += match k {
            2 if block.count(|t| {
                turns[t] += 1;
                t.rank() > 0
            }) > 3 =>
            {
                10
            }
            _ => 1,
        };
    }
    block.each(|t| {
        let mut last = 0;
        for k in 0..3_usize {
            last += match k {
                // Only the first has an element.
                0 if {
                    let first = x[k / 2];
                    first > 0
                } =>
                {
                    7
                }
                _ => 1,
            };
        }
        if let Some(y) = y.get_mut(t.index()) {
            *y = turns[t] * 1000 + last * 100 + sum;
        }
    });
}

/// Phases in the operands of one expression, whose order shows in a private variable.
#[kernel]
fn ordered(block: Block, x: &[u32], y: &mut Own<[u32]>) {
    let mut counts = [0_u32; 2];
    let mut turns = block.private(0_u32);
    counts[block.count(|t| {
        turns[t] += 1;
        t.rank() < 1 && turns[t] > 1
    })] += block.reduce(
        |t| {
            turns[t] += 1;
            turns[t]
        },
        |a, b| if a > b { a } else { b },
    );
    let are_same = (x[0] > 0
        && block.any(|t| {
            turns[t] *= 2;
            true
        }))
        == (x[0] > 0
            && block.any(|t| {
                turns[t] += 1;
                turns[t] > 5
            }));
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = turns[t] * 1000 + counts[0] * 100 + counts[1] * 10 + u32::from(are_same);
        }
    });
}

const MOST: u32 = 1000;

/// Types that only rustc knows, those that a phase's closure writes, and places that a closure computes.
#[kernel]
fn typed(block: Block, x: &[u32], y: &mut Own<[u32]>) {
    let most = block.reduce(|_| MOST, |a, b| if a < b { a } else { b });
    let ones = block.reduce(|_| -> u8 { 1 }, |a: u8, b: u8| a.wrapping_add(b));
    let place_of = |value: u32| (value % 4) as usize;
    let mut bins = block.private([0_u32; 4]);
    block.each(|t| {
        for i in t.of_grid(x.len()) {
            bins[t][place_of(x[i])] += 1;
            bins[t][match x[i] {
                7 => 0,
                _ => 1,
            }] += 1;
        }
    });
    let all = block.reduce(|t| bins[t], |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]);
    let sum = all[0] + 10 * all[1] + 100 * all[2] + 1000 * all[3];
    y.put(block.index(), sum + most * 100_000 + ones as u32);
}

/// Each thread follows the links that the threads have written.
#[kernel]
fn linked(block: Block, x: &[u32], y: &mut Own<[u32]>) {
    let mut next = block.shared::<[u32; 64]>();
    block.fill(&mut next, |i| {
        // They lead to the first.
        assert!(x[i] < i as u32 || i == 0);
        x[i]
    });
    block.each(|t| {
        let mut at = t.rank() % 64;
        let mut steps = 0;
        while at != 0 {
            at = next[at] as usize % 64;
            steps += 1;
        }
        if let Some(y) = y.get_mut(t.index()) {
            *y = steps;
        }
    });
}

/// What the C++ gives is what the simulated device gives.
macro_rules! same {
    ($kernel:ident, $x:expr, $len:expr) => {{
        let (device, stream) = simulated();
        let (kernel, program) = ($kernel::load(&device).unwrap(), program::<$kernel>());
        let x: Vec<u32> = $x;
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        for (grid, block) in [(1, 1), (2, 7), (1, 33), (2, 64)] {
            let mut y = DeviceBuf::<u32>::zeroed(&device, $len).unwrap();
            kernel.launch(stream.config(grid, block, 0), &on_device, &mut y).unwrap();
            let expected = y.to_vec().unwrap();
            for order in 0..6 {
                let mut found = vec![0_u32; $len];
                let all: Vec<Argument> = [slice(&x), slice_mut(&mut found)].concat();
                assert_eq!(run::<$kernel>(&program, grid, block, order, &all).faults, []);
                assert_eq!(found, expected, "{grid} x {block}, order {order}");
            }
        }
    }};
}

#[test]
fn parts_are_assigned() {
    same!(parted, (0..64).collect(), 100);
}

#[test]
fn guards_of_other_arms_are_not_evaluated() {
    same!(guarded, vec![5], 100);
}

#[test]
fn phases_come_in_the_order_of_rust() {
    same!(ordered, vec![5], 100);
}

#[test]
fn types_and_places_of_elsewhere_are_known() {
    same!(typed, (0..100).map(|i| i * i % 31).collect(), 2);
}

#[test]
fn phases_do_not_read_what_a_thread_has_failed_to_write() {
    same!(linked, (0..64).map(|i: u32| i.saturating_sub(1 + i % 3)).collect(), 100);
    let program = program::<linked>();
    let mut x: Vec<u32> = (0..64).map(|i: u32| i.saturating_sub(1)).collect();
    // Shared memory is full of ones, which lead from 63 to 63.
    x[63] = 63;
    for order in 0..6 {
        let mut found = vec![0_u32; 64];
        let all = [slice(&x), slice_mut(&mut found)].concat();
        assert_eq!(run::<linked>(&program, 1, 64, order, &all).faults.len(), 1);
    }
}
