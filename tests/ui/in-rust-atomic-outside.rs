// All threads of a block would change the atomic: it is outside of a phase.

use std::sync::atomic::{AtomicU32, Ordering};

use thalweg::prelude::*;

#[device]
fn noted(at: &AtomicU32) -> u32 {
    at.fetch_add(1, Ordering::Relaxed)
}

#[kernel]
fn k(block: Block, blocks: &[AtomicU32], y: &mut Out<[u32]>) {
    blocks[0].fetch_add(1, Ordering::Relaxed);
    let add = |by: u32| blocks[1].fetch_add(by, Ordering::Relaxed);
    let before = noted(&blocks[2]);
    let bins = block.shared::<[AtomicU32; 32]>();
    y.put(block.index(), bins[0].load(Ordering::Relaxed));
}

fn main() {}
