//! Kernels in blocks, on the simulated device.

use thalweg::prelude::*;

// ANCHOR: sum
/// The sum of each block's share of `x`, in the block's element of `sums`.
#[kernel(threads = 256)]
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

stream_pipeline! {
    pub(crate) pipeline Sums {
        input x: [f32];
        output partial: [f32; 1 per 1024];
        device sums_of: [f32; 1 per 1024];
        chunk c = 4096;
        stage all {
            copy x -> dx;
            sums<<<blocks(c.len, 1024), 256>>>(&dx, out sums_of);
            copy sums_of -> partial;
        }
    }
}
