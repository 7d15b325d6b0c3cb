//! Kernels in blocks, on the simulated device.

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;

use crate::both::simulated;

// ANCHOR: sum
/// The sum of each block's share of `x`, in the block's element of `sums`.
#[kernel]
pub(crate) fn sums(block: Block, x: &[f32], sums: &mut Out<[f32]>) {
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
}
// ANCHOR_END: sum

// ANCHOR: smooth
/// The mean of each element and its neighbours in its block's 256 elements.
#[kernel(threads = 256)]
pub(crate) fn smooth(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut near = block.shared::<[f32; 258]>();
    let first = block.index().get() * 256;
    block.fill(&mut near, |i| {
        let at = first + i;
        if at > 0 && at <= x.len() { x[at - 1] } else { 0.0 }
    });
    block.each(|t| {
        let Some(y) = y.get_mut(t.index()) else { return };
        let i = t.rank();
        *y = (near[i] + near[i + 1] + near[i + 2]) / 3.0;
    });
}
// ANCHOR_END: smooth

/// Each tile of 16 by 16 of a square matrix, whose side is a multiple of 16, transposed in its place.
#[kernel(threads = 64)]
pub(crate) fn turned(block: Block, side: usize, x: &[u32], y: &mut Out<[u32]>) {
    const TILE: usize = 16;
    let mut tile = block.shared::<[[u32; TILE]; TILE]>();
    let mut written = block.private(0_u32);
    let tiles = side / TILE;
    let mut turn = 0;
    while turn * block.blocks() + block.index().get() < tiles * tiles {
        let number = turn * block.blocks() + block.index().get();
        let (top, left) = (number / tiles * TILE, number % tiles * TILE);
        block.fill(&mut tile, |[r, c]| x[(top + r) * side + left + c]);
        block.each(|t| {
            for i in t.of_block(TILE * TILE) {
                let value = tile[i % TILE][i / TILE];
                written[t] += value % 7;
            }
        });
        turn += 1;
    }
    let all = block.any(|t| written[t] > 0);
    let count = block.count(|t| written[t] % 2 == 1);
    block.each(|t| {
        for i in t.of_grid(y.len()) {
            if let Some(y) = y.get_mut(i) {
                *y = written[t] + u32::from(all) + count as u32;
            }
        }
    });
}

/// A loop that waits for what a thread writes which may fail.
#[kernel]
pub(crate) fn waiting(block: Block, fails: u32, x: &[u32], y: &mut Out<[u32]>) {
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

/// What `sums` gives: shares, then the values of the threads combined 16, 8, 4, 2 and 1 further on, in warps and
/// then of the warps.
fn summed(x: &[f32], blocks: usize, threads: usize) -> Vec<f32> {
    let warp = |mut values: Vec<f32>| {
        for by in [16, 8, 4, 2, 1] {
            for at in by..values.len() {
                values[at - by] += values[at];
            }
            values.truncate(by);
        }
        values[0]
    };
    let share = |of: usize| x.iter().skip(of).step_by(blocks * threads).fold(0.0, |sum, x| sum + x);
    let blocks = (0..blocks).map(|block| {
        let values: Vec<_> = (0..threads).map(|thread| share(block * threads + thread)).collect();
        let warps: Vec<_> = values.chunks(32).map(|values| warp(values.to_vec())).collect();
        warp(warps)
    });
    blocks.collect()
}

on_each_device! {
    threads_of_a_block_reduce_their_values;
    shared_memory_is_filled_in_one_phase_and_read_in_the_next;
    a_block_loops_over_phases_and_its_threads_keep_their_own;
    a_launch_of_a_kernel_in_blocks_has_one_dimension;
}

fn threads_of_a_block_reduce_their_values(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = sums::load(device).unwrap();
    for len in [0, 1, 31, 32, 33, 1000, 10_000] {
        let x: Vec<f32> = (0..len).map(|i| (i as f32 * 0.7).sin()).collect();
        let on_device = DeviceBuf::from_slice(device, &x).unwrap();
        for (blocks, threads) in [(1, 1), (1, 31), (3, 33), (2, 64), (5, 250), (4, 256)] {
            let mut sums = DeviceBuf::<f32>::zeroed(device, blocks).unwrap();
            kernel.launch(stream.config(blocks as u32, threads, 0), &on_device, &mut sums).unwrap();
            let sums = sums.to_vec().unwrap();
            assert_eq!(sums, summed(&x, blocks, threads as usize), "{len} in {blocks} x {threads}");
        }
    }
}

fn shared_memory_is_filled_in_one_phase_and_read_in_the_next(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = smooth::load(device).unwrap();
    for len in [1, 2, 255, 256, 257, 1000] {
        let x: Vec<f32> = (0..len).map(|i| (i * i % 97) as f32).collect();
        let on_device = DeviceBuf::from_slice(device, &x).unwrap();
        let mut y = DeviceBuf::<f32>::zeroed(device, len).unwrap();
        kernel.launch(stream.config(blocks(len, 256), 256, 0), &on_device, &mut y).unwrap();
        let at = |i: isize| usize::try_from(i).ok().and_then(|i| x.get(i)).copied().unwrap_or_default();
        let expected: Vec<f32> = (0..len as isize).map(|i| (at(i - 1) + at(i) + at(i + 1)) / 3.0).collect();
        assert_eq!(y.to_vec().unwrap(), expected, "{len}");
    }
}

fn a_block_loops_over_phases_and_its_threads_keep_their_own(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = turned::load(device).unwrap();
    let side = 48;
    let x: Vec<u32> = (0..side * side).map(|i| (i * 7919 % 1009) as u32).collect();
    let on_device = DeviceBuf::from_slice(device, &x).unwrap();
    for blocks in [1, 2, 9, 12] {
        let mut y = DeviceBuf::<u32>::zeroed(device, 1000).unwrap();
        kernel.launch(stream.config(blocks as u32, 64, 0), side, &on_device, &mut y).unwrap();
        let mut written = vec![vec![0; 64]; blocks];
        for number in 0..9 {
            let (top, left) = (number / 3 * 16, number % 3 * 16);
            for i in 0..256 {
                let (row, column) = (i % 16, i / 16);
                written[number % blocks][i % 64] += x[(top + row) * side + left + column] % 7;
            }
        }
        let expected = |i: usize| {
            let of_block = &written[i / 64 % blocks];
            let any = of_block.iter().any(|&sum| sum > 0);
            let odd = of_block.iter().filter(|&sum| sum % 2 == 1).count();
            of_block[i % 64] + u32::from(any) + odd as u32
        };
        assert_eq!(y.to_vec().unwrap(), (0..1000).map(expected).collect::<Vec<_>>(), "{blocks}");
    }
}

#[kernel]
fn beyond(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let threads = block.threads();
    assert!(threads < 100);
    let sum = block.reduce(|t| x[t.rank()], |a, b| a + b);
    y.put(block.index(), sum);
}

#[test]
fn a_fault_in_a_block_names_the_block_and_the_thread() {
    let (device, stream) = simulated();
    let kernel = beyond::load(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &[1.0_f32; 40]).unwrap();
    let mut y = DeviceBuf::<f32>::zeroed(&device, 3).unwrap();
    let mut said = |blocks: u32, threads: u32| {
        kernel.launch(stream.config(blocks, threads, 0), &x, &mut y).unwrap();
        stream.synchronize().unwrap_err().to_string()
    };
    let text = said(1, 41);
    assert!(text.contains("index out of bounds: the len is 40 but the index is 40"), "{text}");
    assert!(text.contains("it was thread 40 of block 0"), "{text}");
    let text = said(4, 8);
    assert!(text.contains("index out of bounds: the len is 3 but the index is 3"), "{text}");
    assert!(text.contains("it was block 3, outside of a phase"), "{text}");
    let text = said(1, 100);
    assert!(text.contains("assertion failed: threads < 100"), "{text}");
}

#[test]
fn a_fault_in_a_phase_ends_the_launch() {
    let (device, stream) = simulated();
    let kernel = waiting::load(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &[5_u32]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 3).unwrap();
    kernel.launch(stream.config(3, 64, 0), 33, &x, &mut y).unwrap();
    let said = stream.synchronize().unwrap_err().to_string();
    assert!(said.contains("assertion failed: t.rank() as u32 != fails || turns < 3"), "{said}");
    assert!(said.contains("it was thread 33 of block 0"), "{said}");
    kernel.launch(stream.config(3, 64, 0), 999, &x, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [5; 3]);
}

fn a_launch_of_a_kernel_in_blocks_has_one_dimension(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = sums::load(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[1.0_f32; 4]).unwrap();
    let mut y = DeviceBuf::<f32>::zeroed(device, 2).unwrap();
    let error = kernel.launch(stream.config((1, 2), 32, 0), &x, &mut y).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Contract(_)), "{error}");
    let said = error.to_string();
    assert!(said.contains("the launch <<<(1, 2, 1), (32, 1, 1)>>> of kernel `sums`"), "{said}");
    assert!(said.contains("has more than one dimension"), "{said}");
    let error = kernel.launch(stream.config(2, (4, 1, 2), 0), &x, &mut y).unwrap_err();
    assert!(error.to_string().contains("has more than one dimension"), "{error}");
    kernel.launch(stream.config(2, 32, 0), &x, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [4.0, 0.0]);
}
