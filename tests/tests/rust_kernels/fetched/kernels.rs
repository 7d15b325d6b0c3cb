//! Kernels that fetch ahead what they write to shared memory later.

use thalweg::prelude::*;

/// The numbers of a ring go to the place before, several times, through the registers of threads.
#[kernel(threads = 48)]
pub(crate) fn turned(block: Block, rounds: u32, x: &[u32], y: &mut Out<[u32]>) {
    let mut ring = block.shared::<[u32; 100]>();
    let mut next = block.fetch::<[u32; 100]>(|i| x[i]);
    for _ in 0..rounds {
        block.fill_fetched(&mut ring, &next);
        next = block.fetch::<[u32; 100]>(|i| ring[(i + 1) % 100].wrapping_mul(3) ^ i as u32);
    }
    // What was fetched last is written twice.
    block.fill(&mut ring, |i| i as u32);
    block.fill_fetched(&mut ring, &next);
    block.fill_fetched(&mut ring, &next);
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = ring[t.rank()].wrapping_sub(ring[99 - t.rank()]);
        }
    });
}

// ANCHOR: product
/// The matrix product `C = A x B`, row by row: `a` is `[m, k]`, `b` is `[k, n]` and `c` is `[m, n]`.
#[kernel(threads = 9)]
pub(crate) fn product(block: Block<2>, k: usize, a: &[f32], b: &[f32], c: &mut Out<[f32]>) {
    let mut rows = block.shared_padded::<[[f32; 12]; 5], 4>();
    let mut columns = block.shared::<[[f32; 12]; 5]>();
    let [m, n] = block.shape(c);
    for at in block.tiles::<12, 12>(c) {
        let mut sums = block.private([[0.0_f32; 4]; 4]);
        let mut next_rows = block.fetch_columns::<[[f32; 12]; 5]>(|[inner, r]| {
            if at.top() + r < m && inner < k { a[(at.top() + r) * k + inner] } else { 0.0 }
        });
        for from in (0..k).step_by(5) {
            block.fill_fetched(&mut rows, &next_rows);
            block.fill(&mut columns, |[inner, c]| {
                if from + inner < k && at.left() + c < n {
                    b[(from + inner) * n + at.left() + c]
                } else {
                    0.0
                }
            });
            // The next strip of `a` is on its way while the block computes with this one.
            let next = from + 5;
            if next < k {
                next_rows = block.fetch_columns::<[[f32; 12]; 5]>(|[inner, r]| {
                    if at.top() + r < m && next + inner < k {
                        a[(at.top() + r) * k + next + inner]
                    } else {
                        0.0
                    }
                });
            }
            block.each(|t| {
                let part = at.part::<4, 4>(t);
                for inner in 0..5 {
                    for i in 0..4 {
                        for j in 0..4 {
                            let (row, column) = (rows[inner][part.row(i)], columns[inner][part.column(j)]);
                            sums[t][i][j] = row.mul_add(column, sums[t][i][j]);
                        }
                    }
                }
            });
        }
        block.fill_parts(&mut c.tile(at), |t| sums[t]);
    }
}
// ANCHOR_END: product

/// The numbers of each block in the opposite order, in place. Nothing but the end of a fetch keeps the next phase from
/// writing what is read.
#[kernel(threads = 48)]
pub(crate) fn reversed(block: Block, y: &mut Own<[u32]>) {
    let mut tile = block.shared::<[u32; 100]>();
    let first = block.index().get() * 100;
    // SAFETY: the blocks have 100 elements each, and none is written in this phase.
    let ahead = block.fetch::<[u32; 100]>(|i| unsafe { *y.any(first + 99 - i) });
    block.each(|t| {
        for i in t.of_block(100) {
            // SAFETY: each element is that of one thread in this phase.
            unsafe { *y.any_mut(first + i) = i as u32 };
        }
    });
    block.fill(&mut tile, |i| i as u32);
    block.each(|t| {
        // SAFETY: the first 48 elements are those of the threads, which read none of each other.
        unsafe { *tile.any_mut(t.rank()) = 0 };
    });
    block.fill_fetched(&mut tile, &ahead);
    block.each(|t| {
        for i in t.of_block(100) {
            // SAFETY: each element is that of one thread in this phase.
            unsafe { *y.any_mut(first + i) += tile[i] };
        }
    });
}
