//! Kernels with `unsafe`: the C++ that is made of them gives what the kernels give on the simulated device.

use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;

use super::blocks::{program, run, simulated, slice, slice_mut};

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
