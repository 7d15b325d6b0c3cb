//! Kernels with variables, templates, clusters and grid-wide barriers, and pipelines of them.

use thalweg::prelude::*;

#[kernels("../cu/symbols.cu")]
unsafe extern "CUDA" {
    /// `y[i]` is the sum of `weights[k] * x[i + k]`, as far as `x` goes.
    #[host(blur_on_host)]
    #[requires(n as usize <= x.len() && n as usize <= y.len())]
    #[requires(taps as usize <= weights.len() && taps <= 5)]
    pub safe fn blur(n: u32, taps: u32, x: &[f32], y: Out<[f32]>, #[symbol] weights: &[f32]);
}

fn blur_on_host(t: Thread, n: u32, taps: u32, x: &[f32], y: &mut [f32], weights: &[f32]) {
    let i = t.global_x();
    if i < n as usize {
        let within = x[i..n as usize].iter().take(taps as usize);
        y[i] = within.zip(weights).map(|(x, weight)| weight * x).sum();
    }
}

#[kernels("../cu/blocks_together.cu")]
unsafe extern "CUDA" {
    /// `y[i]` is the element of `x` for the next block of the cluster.
    #[instantiate("rotate<2>")]
    #[cluster(2)]
    #[host(rotate_on_host::<2>)]
    #[requires(n as usize <= x.len() && n as usize <= y.len())]
    pub safe fn rotate_2(n: u32, x: &[u32], y: Out<[u32]>);

    /// The same, with larger clusters than some devices support.
    #[instantiate("rotate<16>")]
    #[cluster(16)]
    #[host(rotate_on_host::<16>)]
    #[requires(n as usize <= x.len() && n as usize <= y.len())]
    pub safe fn rotate_16(n: u32, x: &[u32], y: Out<[u32]>);

    /// `y[i]` is `x[i]` and the sum of all `x`. `state` is zero at first.
    #[cooperative]
    #[host(total_on_host)]
    #[requires(n as usize <= x.len() && n as usize <= y.len() && state.len() >= 2)]
    pub safe fn total(n: u32, x: &[u32], state: &mut [u32], y: Out<[u32]>);
}

fn rotate_on_host<const BLOCKS: u32>(grid: Grid, n: u32, x: &[u32], y: &mut [u32]) {
    let block = grid.block_dim[0] as usize;
    for (i, y) in y[..n as usize].iter_mut().enumerate() {
        let (index, thread) = (i / block, i % block);
        let cluster = index - index % BLOCKS as usize;
        let next = cluster + (index + 1) % BLOCKS as usize;
        *y = x[..n as usize].get(next * block + thread).copied().unwrap_or(0);
    }
}

fn total_on_host(_: Grid, n: u32, x: &[u32], _: &mut [u32], y: &mut [u32]) {
    let x = &x[..n as usize];
    let sum = x.iter().fold(0, |sum: u32, x| sum.wrapping_add(*x));
    y.iter_mut().zip(x).for_each(|(y, x)| *y = x.wrapping_add(sum));
}

/// Threads in a block of these pipelines' launches.
pub const BLOCK: u32 = 32;

stream_pipeline! {
    pub pipeline Blur {
        param taps: u32;
        resident weights: [f32];
        input x: [f32];
        output y: [f32];
        chunk c = auto;
        depth = 2;
        device dy: [f32];
        stage load { copy x -> dx; }
        stage work { blur<<<blocks(c.len, BLOCK), BLOCK>>>(c.len as u32, taps, &dx, out dy, &weights); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Gives the variable a value that changes from chunk to chunk.
    pub pipeline BlurWithItsInput {
        input x: [f32];
        output y: [f32];
        chunk c = auto;
        device dy: [f32];
        stage load { copy x -> dx; copy x -> dw; }
        stage work { blur<<<blocks(c.len, BLOCK), BLOCK>>>(c.len as u32, 1, &dx, out dy, &dw); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Gives the variable one resident, then another.
    pub pipeline BlurTwice {
        resident first: [f32];
        resident second: [f32];
        input x: [f32];
        output y: [f32];
        chunk c = auto;
        device dy: [f32];
        device dz: [f32];
        stage load { copy x -> dx; }
        stage one { blur<<<blocks(c.len, BLOCK), BLOCK>>>(c.len as u32, 1, &dx, out dy, &first); }
        stage two { blur<<<blocks(c.len, BLOCK), BLOCK>>>(c.len as u32, 1, &dy, out dz, &second); }
        stage store { copy dz -> y; }
    }
}

stream_pipeline! {
    pub pipeline Rotate {
        param grid: u32;
        param shared: u32;
        input x: [u32];
        output y: [u32];
        chunk c = auto;
        depth = 2;
        device dy: [u32];
        stage load { copy x -> dx; }
        stage work { rotate_2<<<grid, BLOCK, shared>>>(c.len as u32, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    pub pipeline RotateFar {
        param grid: u32;
        input x: [u32];
        output y: [u32];
        chunk c = auto;
        device dy: [u32];
        stage load { copy x -> dx; }
        stage work { rotate_16<<<grid, BLOCK, 4 * BLOCK>>>(c.len as u32, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    pub pipeline Total {
        param grid: u32;
        input x: [u32];
        output y: [u32];
        chunk c = auto;
        depth = 2;
        device state: [u32];
        device dy: [u32];
        stage load { copy x -> dx; }
        stage work { fill state = 0; total<<<grid, BLOCK>>>(c.len as u32, &dx, &mut state, out dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Chunks launch either kernel: in graphs, one node has different attributes from chunk to chunk.
    pub pipeline Either {
        input x: [u32];
        output y: [u32];
        chunk c = auto;
        device dy: [u32];
        stage load { copy x -> dx; }
        stage work {
            if c.index % 2 == 0 {
                rotate_2<<<2, BLOCK, 4 * BLOCK>>>(c.len as u32, &dx, out dy);
            } else {
                rotate_16<<<16, BLOCK, 4 * BLOCK>>>(c.len as u32, &dx, out dy);
            }
        }
        stage store { copy dy -> y; }
    }
}

/// The result of [`Blur`] for one chunk.
pub fn blurred(x: &[f32], weights: &[f32]) -> Vec<f32> {
    let sum = |i: usize| x[i..].iter().zip(weights).map(|(x, weight)| weight * x).sum();
    (0..x.len()).map(sum).collect()
}

/// The result of [`rotate_2`] and [`rotate_16`] for one chunk.
pub fn rotated<const BLOCKS: u32>(x: &[u32]) -> Vec<u32> {
    let mut y = vec![0; x.len()];
    let grid = (x.len() as u32).div_ceil(BLOCK * BLOCKS) * BLOCKS;
    let grid = Grid { grid_dim: [grid, 1, 1], block_dim: [BLOCK, 1, 1], shared: 0 };
    rotate_on_host::<BLOCKS>(grid, x.len() as u32, x, &mut y);
    y
}
