//! Phases whose threads share a loop: on the host each thread computes what it would compute alone, and its
//! faults are its own.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;

use crate::both::simulated;

/// Several variables, of types that follow from the loop, and something before and after it.
#[kernel]
fn spread(block: Block, scale: f32, x: &[f32], found: &mut Out<[f32]>) {
    let sum = block.reduce(
        |t| {
            let first = t.index().get();
            let mut sum = 0.0;
            let mut ends: [f32; 2] = [f32::INFINITY, f32::NEG_INFINITY];
            for i in t.of_grid(x.len()) {
                let value = x[i] * scale;
                sum += value;
                if value < ends[0] {
                    ends[0] = value;
                }
                ends[1] = ends[1].max(value);
            }
            let width = if ends[0] > ends[1] { 0.0 } else { ends[1] - ends[0] };
            sum + width * (first % 5) as f32
        },
        |a, b| a + b,
    );
    found.put(block.index(), sum);
}

/// Elements of its own, of other numbers than the slice has.
#[kernel]
fn added(block: Block, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    block.each(|t| {
        for i in t.of_grid(y.len()) {
            if let Some(y) = y.get_mut(i)
                && let Some(x) = x.get(i.get())
            {
                *y += a * *x;
            }
        }
    });
}

/// Each thread has another number of elements; and loops that are left, that borrow, and that use what others
/// keep.
#[kernel]
fn uneven(block: Block, x: &[u32], found: &mut Out<[u32]>) {
    let mut kept = block.private(1_u32);
    block.each(|t| {
        let from = kept[t];
        for i in t.of_grid(x.len()) {
            kept[t] = kept[t].wrapping_mul(3).wrapping_add(x[i]) ^ from;
        }
    });
    block.each(|t| {
        for i in t.of_grid(x.len()) {
            if x[i] > 90 {
                break;
            }
            kept[t] = kept[t].wrapping_add(1);
        }
    });
    let sum = block.reduce(
        |t| {
            let mut sum = 0_u32;
            for i in t.of_block(t.rank() * 3 % 50) {
                sum = sum.wrapping_mul(31).wrapping_add(x[i % x.len()]);
            }
            sum.wrapping_add(kept[t])
        },
        |a, b| a.wrapping_mul(7) ^ b,
    );
    let both = block.reduce(
        |t| {
            let weights = [1, 2, 3];
            let chosen = &weights[..t.rank() % 3 + 1];
            let mut sum = 0_u32;
            for i in t.of_block(x.len()) {
                sum = sum.wrapping_add(x[i] * chosen[i % chosen.len()]);
            }
            for i in t.of_block(x.len()) {
                sum ^= x[i];
            }
            sum
        },
        |a, b| a.wrapping_mul(7) ^ b,
    );
    found.put(block.index(), sum ^ both);
}

/// How often each number below 32 is in a thread's share, and from that one number.
#[kernel]
fn counted(block: Block, x: &[u8], found: &mut Out<[u32]>) {
    let sum = block.reduce(
        |t| {
            let mut counts = [0_u32; 32];
            for i in t.of_grid(x.len()) {
                counts[x[i] as usize] += 1;
            }
            let mut sum = 0_u32;
            for count in counts {
                sum = sum.wrapping_mul(31).wrapping_add(count);
            }
            sum
        },
        |a, b| a.wrapping_mul(7) ^ b,
    );
    found.put(block.index(), sum);
}

/// Fails where a place is none of `x`, and before and after the loop for threads of these ranks.
#[kernel]
fn picked(block: Block, before: usize, after: usize, places: &[u32], x: &[u8], y: &mut Out<[u32]>) {
    block.each(|t| {
        let start = x[if t.rank() == before { 100 } else { 0 }];
        let mut sum = start as u32;
        for i in t.of_grid(places.len()) {
            sum += x[places[i] as usize] as u32;
            if let Some(y) = y.get_mut(i) {
                *y = sum;
            }
        }
        assert!(t.rank() != after || sum == 0);
    });
}

/// A slice that is made shorter, and one whose name hides another.
#[kernel]
fn shortened(block: Block, n: usize, mut x: &[f32], found: &mut Out<[f32]>) {
    x = &x[..n / 100];
    let sum = block.reduce(
        |t| {
            let mut sum = 0.0;
            for i in t.of_grid(n) {
                sum += x[i];
            }
            sum
        },
        |a, b| a + b,
    );
    found.put(block.index(), sum);
}

#[kernel]
#[allow(non_upper_case_globals, reason = "it is the name of a parameter")]
fn hidden(block: Block, n: usize, x: &[f32], found: &mut Out<[f32]>) {
    let mut sum = x[0];
    for _ in 0..1 {
        const x: [f32; 4] = [1.0, 2.0, 3.0, 4.0];
        sum = block.reduce(
            |t| {
                let mut sum = 0.0;
                for i in t.of_grid(n) {
                    sum += x[i.get()];
                }
                sum
            },
            |a, b| a + b,
        );
    }
    found.put(block.index(), sum);
}

/// Shared memory that no `fill` has written, variables of threads, and names that are a field's, a method's and a
/// variable's before they are those of arrays.
#[kernel]
fn taken(block: Block, n: u32, x: &[f32], found: &mut Out<[f32]>) {
    let counts = block.shared_slice::<AtomicU32>(n as usize);
    block.each(|t| {
        for i in t.of_block(n as usize) {
            counts[i].store(0, Relaxed);
        }
    });
    let few = block.shared::<[AtomicU32; 8]>();
    let of_thread = block.private::<f32>(0.5);
    block.each(|t| {
        for i in t.of_block(8) {
            few[i].store(1, Relaxed);
        }
    });
    block.each(|t| {
        for i in t.of_grid(x.len()) {
            counts[i.get() % n as usize].fetch_add(if x[i] > of_thread[t] { 1 } else { 0 }, Relaxed);
        }
    });
    let greatest = block.reduce(
        |t| {
            let mut greatest = 0.0_f32;
            for i in t.of_grid(x.len()) {
                let first = x[i];
                greatest = first.max(greatest);
            }
            greatest
        },
        |a, b| a + b,
    );
    let mut max = block.shared::<[f32; 8]>();
    block.fill(&mut max, |_| greatest);
    let first = block.shared::<[AtomicU32; 1]>();
    block.each(|t| {
        if t.rank() == 0 {
            first[0].store(0, Relaxed);
        }
    });
    let sum = block.reduce(
        |t| {
            let mut sum = 0;
            for i in t.of_block(n as usize) {
                sum += counts[i].load(Relaxed) + few[i % 8].load(Relaxed) + first[0].load(Relaxed);
            }
            if t.rank() == 0 { sum + max[3] as u32 } else { sum }
        },
        |a, b| a + b,
    );
    found.put(block.index(), sum as f32);
}

#[test]
fn what_turns_take_may_have_any_name() {
    for device in [Device::cpu().unwrap(), simulated().0] {
        let (stream, kernel) = (Stream::new(&device).unwrap(), taken::load(&device).unwrap());
        let x: Vec<f32> = (0..1000).map(|i| (i % 10) as f32).collect();
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        let mut found = DeviceBuf::<f32>::zeroed(&device, 1).unwrap();
        kernel.launch(stream.config(1, 10, 4 * 6), 6, &on_device, &mut found).unwrap();
        // The greatest numbers of ten threads, 900 numbers above a half, and a one for each of six places.
        assert_eq!(found.to_vec().unwrap(), [(0..10).sum::<i32>() as f32 + 900.0 + 6.0]);
    }
}

#[test]
fn a_slice_has_the_length_that_its_name_stands_for() {
    let (device, stream) = simulated();
    let x = DeviceBuf::from_slice(&device, &[1.0_f32; 4000]).unwrap();
    let mut found = DeviceBuf::<f32>::zeroed(&device, 4).unwrap();
    let config = || stream.config(4, 32, 0);
    shortened::load(&device).unwrap().launch(config(), 4000, &x, &mut found).unwrap();
    let error = stream.synchronize().unwrap_err().to_string();
    assert!(error.contains("the len is 40 but the index is 128"), "{error}");
    hidden::load(&device).unwrap().launch(config(), 4000, &x, &mut found).unwrap();
    let error = stream.synchronize().unwrap_err().to_string();
    assert!(error.contains("the len is 4 but the index is 128"), "{error}");
}

/// What the threads of a block give, combined as `reduce` does.
fn combined<T: Copy>(values: &[T], combine: impl Fn(T, T) -> T) -> T {
    let warp = |values: &[T]| {
        let mut values = values.to_vec();
        for by in [16, 8, 4, 2, 1] {
            for at in by..values.len() {
                values[at - by] = combine(values[at - by], values[at]);
            }
            values.truncate(by);
        }
        values[0]
    };
    let warps: Vec<T> = values.chunks(32).map(warp).collect();
    warp(&warps)
}

const GRIDS: [(usize, usize); 7] = [(1, 1), (1, 31), (3, 33), (2, 64), (5, 250), (4, 256), (70, 17)];
const LENGTHS: [usize; 7] = [1, 31, 32, 33, 200, 1000, 10_000];

on_each_device! {
    variables_are_handed_on;
    own_elements_end_where_they_end;
    loops_of_any_shape_give_what_each_thread_gives_alone;
    large_variables_stay_where_they_are;
}

fn variables_are_handed_on(device: &Device) {
    let (stream, kernel) = (Stream::new(device).unwrap(), spread::load(device).unwrap());
    for len in LENGTHS {
        let x: Vec<f32> = (0..len).map(|i| (i as f32 * 0.7).sin()).collect();
        let on_device = DeviceBuf::from_slice(device, &x).unwrap();
        for (blocks, threads) in GRIDS {
            let mut found = DeviceBuf::<f32>::zeroed(device, blocks).unwrap();
            let config = stream.config(blocks as u32, threads as u32, 0);
            kernel.launch(config, 1.5, &on_device, &mut found).unwrap();
            let of_thread = |thread: usize| {
                let share = x.iter().skip(thread).step_by(blocks * threads).map(|x| x * 1.5);
                let sum = share.clone().fold(0.0, |sum, x| sum + x);
                let (least, greatest) =
                    (share.clone().fold(f32::INFINITY, f32::min), share.fold(f32::NEG_INFINITY, f32::max));
                let width = if least > greatest { 0.0 } else { greatest - least };
                sum + width * (thread % 5) as f32
            };
            let of_block = |block: usize| {
                let values: Vec<f32> = (0..threads).map(|t| of_thread(block * threads + t)).collect();
                combined(&values, |a, b| a + b)
            };
            let expected: Vec<f32> = (0..blocks).map(of_block).collect();
            assert_eq!(found.to_vec().unwrap(), expected, "{len} in {blocks} x {threads}");
        }
    }
}

fn own_elements_end_where_they_end(device: &Device) {
    let (stream, kernel) = (Stream::new(device).unwrap(), added::load(device).unwrap());
    for (long, short) in [(1000, 700), (700, 1000), (5, 0), (0, 5), (4096, 4096)] {
        let x: Vec<f32> = (0..long).map(|i| i as f32 * 0.3).collect();
        let on_device = DeviceBuf::from_slice(device, &x).unwrap();
        for (blocks, threads) in GRIDS {
            let start: Vec<f32> = (0..short).map(|i| (i % 7) as f32).collect();
            let mut y = DeviceBuf::from_slice(device, &start).unwrap();
            let config = stream.config(blocks as u32, threads as u32, 0);
            kernel.launch(config, 0.7, &on_device, &mut y).unwrap();
            let expected: Vec<f32> =
                start.iter().enumerate().map(|(i, y)| x.get(i).map_or(*y, |x| y + 0.7 * x)).collect();
            assert_eq!(y.to_vec().unwrap(), expected, "{long} to {short} in {blocks} x {threads}");
        }
    }
}

fn loops_of_any_shape_give_what_each_thread_gives_alone(device: &Device) {
    let (stream, kernel) = (Stream::new(device).unwrap(), uneven::load(device).unwrap());
    for len in LENGTHS {
        let x: Vec<u32> = (0..len).map(|i| (i * 7919 % 97) as u32).collect();
        let on_device = DeviceBuf::from_slice(device, &x).unwrap();
        for (blocks, threads) in GRIDS {
            let mut found = DeviceBuf::<u32>::zeroed(device, blocks).unwrap();
            let config = stream.config(blocks as u32, threads as u32, 0);
            kernel.launch(config, &on_device, &mut found).unwrap();
            let kept = |thread: usize| {
                let share = || x.iter().skip(thread).step_by(blocks * threads);
                let kept = share().fold(1_u32, |kept, x| kept.wrapping_mul(3).wrapping_add(*x) ^ 1);
                kept.wrapping_add(share().take_while(|x| **x <= 90).count() as u32)
            };
            let sum = |rank: usize| {
                let share = (rank..rank * 3 % 50).step_by(threads);
                share.fold(0_u32, |sum, i| sum.wrapping_mul(31).wrapping_add(x[i % len]))
            };
            let both = |rank: usize| {
                let share = || (rank..len).step_by(threads);
                let chosen = rank % 3 + 1;
                let sum = share().map(|i| x[i] * [1, 2, 3][i % chosen]).sum::<u32>();
                share().fold(sum, |sum, i| sum ^ x[i])
            };
            let of_block = |block: usize| {
                let ranks = 0..threads;
                let first: Vec<_> =
                    ranks.clone().map(|t| sum(t).wrapping_add(kept(block * threads + t))).collect();
                let second: Vec<_> = ranks.map(both).collect();
                let combine = |a: u32, b: u32| a.wrapping_mul(7) ^ b;
                combined(&first, combine) ^ combined(&second, combine)
            };
            let expected: Vec<u32> = (0..blocks).map(of_block).collect();
            assert_eq!(found.to_vec().unwrap(), expected, "{len} in {blocks} x {threads}");
        }
    }
}

fn large_variables_stay_where_they_are(device: &Device) {
    let (stream, kernel) = (Stream::new(device).unwrap(), counted::load(device).unwrap());
    let x: Vec<u8> = (0..5000).map(|i| (i * 7919 % 97 % 32) as u8).collect();
    let on_device = DeviceBuf::from_slice(device, &x).unwrap();
    for (blocks, threads) in GRIDS {
        let mut found = DeviceBuf::<u32>::zeroed(device, blocks).unwrap();
        kernel.launch(stream.config(blocks as u32, threads as u32, 0), &on_device, &mut found).unwrap();
        let of_thread = |thread: usize| {
            let mut counts = [0_u32; 32];
            x.iter().skip(thread).step_by(blocks * threads).for_each(|x| counts[*x as usize] += 1);
            counts.iter().fold(0_u32, |sum, count| sum.wrapping_mul(31).wrapping_add(*count))
        };
        let of_block = |block: usize| {
            let values: Vec<u32> = (0..threads).map(|t| of_thread(block * threads + t)).collect();
            combined(&values, |a, b| a.wrapping_mul(7) ^ b)
        };
        let expected: Vec<u32> = (0..blocks).map(of_block).collect();
        assert_eq!(found.to_vec().unwrap(), expected, "{blocks} x {threads}");
    }
}

/// What is said of a launch of `picked` in two blocks of 64 threads.
#[track_caller]
fn fault_of_picked(before: usize, after: usize, wrong: &[usize], said: &str, thread: &str) {
    let (device, stream) = simulated();
    let kernel = picked::load(&device).unwrap();
    let mut places = vec![0_u32; 1000];
    for &element in wrong {
        places[element] = 5;
    }
    let places = DeviceBuf::from_slice(&device, &places).unwrap();
    let x = DeviceBuf::from_slice(&device, &[1_u8; 5]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 1000).unwrap();
    kernel.launch(stream.config(2, 64, 0), before, after, &places, &x, &mut y).unwrap();
    let error = stream.synchronize().unwrap_err().to_string();
    assert!(error.contains(said), "{error}");
    assert!(error.contains(&format!("it was thread {thread}")), "{error}");
}

#[test]
fn a_fault_names_the_thread_wherever_it_stands_in_the_phase() {
    let beyond = "the len is 5 but the index is 5";
    for (element, thread) in [(0, "0 of block 0"), (127 + 128, "63 of block 1"), (999, "39 of block 1")] {
        fault_of_picked(64, 64, &[element], beyond, thread);
    }
    fault_of_picked(17, 64, &[], "the len is 5 but the index is 100", "17 of block 0");
    fault_of_picked(64, 63, &[], "assertion failed: t.rank() != after || sum == 0", "63 of block 0");
}

#[test]
fn of_several_faults_that_of_the_first_rounds_is_told() {
    let beyond = "the len is 5 but the index is 5";
    // Thread 9 in its second turn, and thread 5 in its sixth.
    fault_of_picked(64, 64, &[5 * 128 + 5, 128 + 9], beyond, "9 of block 0");
    // In its fourth: this round is done in one pass with the second.
    fault_of_picked(64, 64, &[3 * 128 + 5, 128 + 9], beyond, "5 of block 0");
    // The first block comes first, and what stands before the loop comes before it.
    fault_of_picked(64, 64, &[7 * 128 + 3, 64], beyond, "3 of block 0");
    fault_of_picked(30, 0, &[0], "the len is 5 but the index is 100", "30 of block 0");
}

#[test]
fn a_fault_leaves_the_kernel_as_it_was() {
    let (device, stream) = simulated();
    let kernel = picked::load(&device).unwrap();
    let places = DeviceBuf::from_slice(&device, &[2_u32; 300]).unwrap();
    let x = DeviceBuf::from_slice(&device, &[1_u8; 5]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 300).unwrap();
    kernel.launch(stream.config(1, 100, 0), 3, 100, &places, &x, &mut y).unwrap();
    stream.synchronize().unwrap_err();
    kernel.launch(stream.config(1, 100, 0), 100, 100, &places, &x, &mut y).unwrap();
    let expected: Vec<u32> = (0..300).map(|i| 2 + i / 100).collect();
    assert_eq!(y.to_vec().unwrap(), expected);
}
