//! Kernels with `unsafe`: the C++ that is made of them gives what the kernels give on the simulated device.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use thalweg::half::f16;
use thalweg::kernel::Shaped;
use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;

use super::blocks::{program, run, simulated, slice, slice_mut};
use super::tiles::{self, shaped};

/// `y[places[i]] = x[i]`, and the sum of the two elements before and after.
#[kernel]
fn placed(i: Index, places: &[u32], x: &[f32], y: &mut Out<[f32]>) {
    let Some(place) = places.get(i.get()) else { return };
    // SAFETY: the test passes each place once, and there is an element more than places.
    unsafe {
        let element = y.any_mut(*place as usize);
        *element = *x.get_unchecked(i.get());
        *element += *x.get_unchecked(i.get() + 1);
    }
}

/// The elements of a block in the order of their keys, each of which a block has once: a sort by counting.
#[kernel]
fn in_order(block: Block, keys: &[u8], y: &mut Own<[u32]>) {
    let mut places = block.shared::<[u16; 256]>();
    let mut counts = block.shared::<[[u32; 4]; 8]>();
    let first = block.index().get() * block.threads();
    block.fill(&mut places, |_| u16::MAX);
    block.fill(&mut counts, |[r, c]| (r + c) as u32);
    block.each(|t| {
        if first + t.rank() < keys.len() {
            // SAFETY: no other thread of the block has this key.
            unsafe { *places.any_mut(keys[first + t.rank()] as usize) = t.rank() as u16 };
        }
        if t.rank() < 32 {
            // SAFETY: this place is this thread's.
            unsafe { *counts.any_mut([t.rank() / 4, t.rank() % 4]) *= 10 };
        }
    });
    block.each(|t| {
        let mut before = 0;
        for key in 0..256 {
            // SAFETY: nobody writes the array in this phase.
            let rank = unsafe { *places.any(key) };
            if rank as usize == t.rank() && first + before < y.len() {
                let [r, c] = [key % 8, key % 4];
                // SAFETY: each key is one thread's, and the array has these elements.
                unsafe { *y.any_mut(first + before) = t.rank() as u32 * 1000 + *counts[r].get_unchecked(c) };
            }
            before += usize::from(rank != u16::MAX);
        }
    });
    block.each(|t| {
        let neighbour = first + (t.rank() + 1) % block.threads();
        if t.rank() == 0 && neighbour < y.len() {
            // SAFETY: only this thread is at work, on what another one has written in a phase before.
            unsafe {
                let next = *y.any(neighbour);
                *y.any_mut(neighbour) = next + 7;
            }
        }
    });
}

#[test]
fn scattered_elements_are_the_same() {
    let (device, stream) = simulated();
    let (kernel, program) = (placed::load(&device).unwrap(), program::<placed>());
    let places: Vec<u32> = (0..97).map(|i| i * 5 % 97).collect();
    let x: Vec<f32> = (0..98).map(|i| (i as f32).sqrt()).collect();
    let on_device =
        (DeviceBuf::from_slice(&device, &places).unwrap(), DeviceBuf::from_slice(&device, &x).unwrap());
    let mut y = DeviceBuf::<f32>::zeroed(&device, 97).unwrap();
    kernel.launch(stream.config(4, 32, 0), &on_device.0, &on_device.1, &mut y).unwrap();
    let expected = y.to_vec().unwrap();
    assert_eq!(expected[5], x[1] + x[2]);
    for order in 0..6 {
        let mut found = vec![0.0_f32; 97];
        let all = [slice(&places), slice(&x), slice_mut(&mut found)].concat();
        assert_eq!(run::<placed>(&program, 4, 32, order, &all).faults, []);
        assert_eq!(found, expected, "order {order}");
    }
    // A place beyond the end is a fault in both.
    let (places, mut found) = ([0_u32, 97, 3], vec![0.0_f32; 97]);
    let all = [slice(&places), slice(&x), slice_mut(&mut found)].concat();
    assert_eq!(run::<placed>(&program, 1, 3, 0, &all).faults.len(), 1);
    let places = DeviceBuf::from_slice(&device, &places).unwrap();
    kernel.launch(stream.config(1, 3, 0), &places, &on_device.1, &mut y).unwrap();
    assert!(stream.synchronize().is_err());
}

#[test]
fn shared_arrays_are_scattered_into_the_same_way() {
    let (device, stream) = simulated();
    let (kernel, program) = (in_order::load(&device).unwrap(), program::<in_order>());
    for (grid, block) in [(1, 1), (2, 7), (1, 32), (3, 33), (2, 64), (1, 200)] {
        let len = (grid * block) as usize - usize::from(block > 7);
        let keys: Vec<u8> = (0..len).map(|i| (i % block as usize * 101 % 256) as u8).collect();
        let on_device = DeviceBuf::from_slice(&device, &keys).unwrap();
        let mut y = DeviceBuf::<u32>::zeroed(&device, len).unwrap();
        kernel.launch(stream.config(grid, block, 0), &on_device, &mut y).unwrap();
        let expected = y.to_vec().unwrap();
        assert!(expected.iter().any(|value| *value > 0) || block == 1);
        for order in 0..6 {
            let mut found = vec![0_u32; len];
            let all: Vec<Argument> = [slice(&keys), slice_mut(&mut found)].concat();
            assert_eq!(run::<in_order>(&program, grid, block, order, &all).faults, []);
            assert_eq!(found, expected, "{grid} x {block}, order {order}");
        }
    }
}

/// What a thread has found.
#[device]
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Found {
    key: u16,
    weight: f16,
}

/// Packs the positive numbers of a block into shared memory, at places that an atomic deals out, and writes each
/// where it was, with the number of the matrix at its place. `total` counts them.
#[kernel]
fn packed(block: Block, x: &[f16], total: &[AtomicU32], y: &mut Own<[Found]>) {
    const N: usize = 64;
    let first = block.index().get() * N;
    let mut next = block.shared::<[AtomicU32; 1]>();
    let mut keys = block.shared::<[u16; N]>();
    let mut weights = block.shared::<[f16; N]>();
    let mut matrix = block.shared::<[[u16; 8]; 8]>();
    block.fill(&mut next, |_| 0);
    block.fill_columns(&mut matrix, |[r, c]| (r * 8 + c) as u16);
    block.each(|t| {
        'found: for i in t.of_block(N) {
            if first + i >= x.len() {
                break 'found;
            }
            let weight = x[first + i];
            if weight <= f16::ZERO {
                continue 'found;
            }
            let place = next[0].fetch_add(1, Relaxed) as usize;
            total[0].fetch_add(1, Relaxed);
            // SAFETY: no other thread has got the place, and the element of the matrix has the thread's number.
            unsafe {
                *keys.any_mut(place) = i as u16;
                *weights.any_mut(place) = weight;
                *matrix.any_mut([i / 8, i % 8]) += 100;
            }
        }
    });
    block.each(|t| {
        for i in t.of_block(next[0].load(Relaxed) as usize) {
            let key = keys[i] as usize;
            let one = Found { key: matrix[key / 8][key % 8], weight: weights[i] };
            // SAFETY: the key is that of one element.
            unsafe { *y.any_mut(first + key) = one };
        }
    });
}

#[test]
fn structs_and_halves_are_scattered_beside_atomics() {
    let (device, stream) = simulated();
    let (kernel, program) = (packed::load(&device).unwrap(), program::<packed>());
    let x: Vec<f16> = (0..150).map(|i| f16::from_f32((i as f32 * 0.7).sin())).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    let none = Found { key: 0, weight: f16::ZERO };
    let is_found = |x: &f16| *x > f16::ZERO;
    for block in [1, 32, 33, 64] {
        let mut total = DeviceBuf::<u32>::zeroed(&device, 1).unwrap();
        let mut y = DeviceBuf::<Found>::zeroed(&device, x.len()).unwrap();
        kernel.launch(stream.config(3, block, 0), &on_device, &mut total, &mut y).unwrap();
        let expected: Vec<Found> = x
            .iter()
            .enumerate()
            .map(|(i, x)| match is_found(x) {
                true => Found { key: 100 + i as u16 % 64, weight: *x },
                false => none,
            })
            .collect();
        assert_eq!(y.to_vec().unwrap(), expected);
        let count = x.iter().filter(|x| is_found(x)).count() as u32;
        assert_eq!(total.to_vec().unwrap(), [count]);
        for order in 0..6 {
            let (mut total, mut found) = ([0_u32], vec![none; x.len()]);
            let all = [slice(&x), slice_mut(&mut total), slice_mut(&mut found)].concat();
            assert_eq!(run::<packed>(&program, 3, block, order, &all).faults, []);
            assert_eq!((total, found), ([count], expected.clone()), "{block}, order {order}");
        }
    }
}

/// Mirrors each tile of four by four in place. `twice` lets two threads write an element.
#[kernel(threads = 8)]
fn mirrored(block: Block<2>, twice: bool, x: &[u32], y: &mut Out<[u32]>) {
    let [_, columns] = block.shape(y);
    for at in block.tiles::<4, 4>(y) {
        block.each(|t| {
            for i in t.of_block(16) {
                let (r, c) = (i / 4, i % 4);
                let from = (at.top() + r) * columns + at.left() + c;
                let to = (at.top() + r) * columns + at.left() + if twice { 0 } else { 3 - c };
                // SAFETY: the data are made of whole tiles, unless the test wants a race.
                unsafe { *y.any_mut(to) = x[from] };
            }
        });
    }
}

#[test]
fn data_with_a_shape_are_scattered_into() {
    let (device, stream) = simulated();
    let (kernel, program) = (mirrored::load(&device).unwrap(), program::<mirrored>());
    let x: Vec<u32> = (0..8 * 12).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, x.len()).unwrap();
    for grid in [(1, 1, 1), (2, 1, 1), (3, 2, 1)] {
        kernel.launch(stream.config(grid, 8, 0), false, &on_device, Shaped::new(&mut y, [8, 12])).unwrap();
        let mut expected = x.clone();
        expected.chunks_mut(4).for_each(<[u32]>::reverse);
        assert_eq!(y.to_vec().unwrap(), expected);
        for order in 0..6 {
            let mut found = vec![0_u32; x.len()];
            let all = [&[Argument::value(&0_u8)][..], &slice(&x), &shaped(&mut found, [8, 12])].concat();
            assert_eq!(tiles::run::<mirrored>(&program, grid, 8, order, &all).faults, []);
            assert_eq!(found, expected, "{grid:?}, order {order}");
        }
    }
    kernel.launch(stream.config(1, 8, 0), true, &on_device, Shaped::new(&mut y, [8, 12])).unwrap();
    let said = stream.synchronize().unwrap_err().to_string();
    assert!(said.contains("two threads write `y[0]`"), "{said}");
}
