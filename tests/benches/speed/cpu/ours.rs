//! The same as pipelines.

use thalweg::io::sink;
use thalweg::prelude::*;
use thalweg_kernels as kernels;
use thalweg_libraries::cublas::{Gemm, gemm_out};

stream_pipeline! {
    /// What `quickstart` runs.
    pub pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        depth = 3;
        stream up: high;
        stream math;
        stream down: low;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { kernels::saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

stream_pipeline! {
    pub pipeline BlackScholes {
        param rate: f32;
        input spot: [f32];
        input strike: [f32];
        input years: [f32];
        input volatility: [f32];
        output call: [f32];
        output put: [f32];
        device d_call: [f32];
        device d_put: [f32];
        chunk c = auto;
        stage load {
            copy spot -> d_spot;
            copy strike -> d_strike;
            copy years -> d_years;
            copy volatility -> d_volatility;
        }
        stage price {
            kernels::black_scholes<<<blocks(c.len, 256), 256>>>(
                rate, &d_spot, &d_strike, &d_years, &d_volatility, out d_call, out d_put
            );
        }
        stage store { copy d_call -> call; copy d_put -> put; }
    }
}

stream_pipeline! {
    pub pipeline Stencil {
        param w: [f32; 5];
        input x: [f32] halo 2 = clamp;
        output y: [f32];
        device dy: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage sum { kernels::stencil_5<<<blocks(c.len, 256), 256>>>(w[0], w[1], w[2], w[3], w[4], &dx, out dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    pub pipeline Histogram {
        param bins: u32;
        param blocks: u32;
        input x: [f32];
        output counts: [u32; bins as usize] per chunk;
        device d_counts: [u32; bins as usize] per chunk;
        chunk c = auto;
        stage count {
            copy x -> dx;
            fill d_counts = 0;
            kernels::histogram_f32<<<blocks, 256, 8 * 4 * (bins + 1)>>>(c.len as u32, bins, 0.0, 1.0, &dx, &mut d_counts);
            copy d_counts -> counts;
        }
    }
}

stream_pipeline! {
    pub pipeline Dot {
        param blocks: u32;
        input x: [f32];
        input y: [f32];
        output sums: [f64] per chunk;
        device parts: [f64; blocks as usize] per chunk;
        device sum: [f64] per chunk;
        chunk c = auto;
        stage load { copy x -> dx; copy y -> dy; }
        stage add {
            kernels::dot_f32<<<blocks, 256>>>(&dx, &dy, out parts);
            kernels::sum_f64<<<1, 256>>>(&parts, out sum);
        }
        stage store { copy sum -> sums; }
    }
}

stream_pipeline! {
    /// An item is a pixel.
    pub pipeline Normalize {
        input x: [u8; 3];
        output y: [f32; 3];
        resident mean: [f32];
        resident deviation: [f32];
        device dy: [f32; 3];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage normalize {
            kernels::normalize_hwc<<<blocks(c.len * 3, 256), 256>>>(3, &mean, &deviation, &dx, out dy);
        }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    /// An item is a row of A.
    pub pipeline Product {
        param n: usize;
        input a: [f32; n];
        resident b: [f32];
        output c: [f32; n];
        device dc: [f32; n];
        chunk rows = auto;
        stage load { copy a -> da; }
        stage multiply { call gemm_out(Gemm::new(rows.len, n, n), 1.0, &da, &b, out dc); }
        stage store { copy dc -> c; }
    }
}

/// The counts of all chunks together.
pub fn histogram(
    pipeline: &mut Histogram,
    device: &Device,
    bins: usize,
    x: &[f32],
) -> thalweg::Result<Vec<u32>> {
    let mut chunks = Vec::new();
    // Some for each thread, so that one that is held up leaves some to the others.
    pipeline.run(bins as u32, 17 * device.multiprocessors(), x, sink::extend(&mut chunks))?;
    let mut counts = vec![0; bins];
    for chunk in chunks.chunks(bins) {
        counts.iter_mut().zip(chunk).for_each(|(sum, count)| *sum += count);
    }
    Ok(counts)
}

/// The products of all chunks together.
pub fn dot(pipeline: &mut Dot, device: &Device, x: &[f32], y: &[f32]) -> thalweg::Result<f64> {
    let mut sums = Vec::new();
    pipeline.run(17 * device.multiprocessors(), x, y, sink::extend(&mut sums))?;
    Ok(sums.iter().sum())
}
