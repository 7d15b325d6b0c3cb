//! The kernels by hand, of which `tests/cu/by_hand` has the texts.

use thalweg::prelude::*;

/// The elements of an array with these dimensions.
fn product(dimensions: [u32; 3]) -> usize {
    dimensions.into_iter().fold(1, |elements: usize, dimension| elements.saturating_mul(dimension as usize))
}

#[kernels("../../../tests/cu/by_hand/saxpy.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
}

#[kernels("../../../tests/cu/by_hand/map.cu")]
unsafe extern "CUDA" {
    #[instantiate("scale<float>")]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn scale_f32(n: u32, a: f32, b: f32, x: &[f32], y: Out<[f32]>);

    #[instantiate("add<float>")]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    #[requires(n as usize <= z.len())]
    pub safe fn add_f32(n: u32, x: &[f32], y: &[f32], z: Out<[f32]>);

    #[instantiate("exponential<float>")]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn exp_f32(n: u32, x: &[f32], y: Out<[f32]>);

    #[instantiate("square_root<float>")]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn sqrt_f32(n: u32, x: &[f32], y: Out<[f32]>);

    #[instantiate("clamp<float>")]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn clamp_f32(n: u32, low: f32, high: f32, x: &[f32], y: Out<[f32]>);
}

#[kernels("../../../tests/cu/by_hand/grayscale.cu")]
unsafe extern "CUDA" {
    #[requires(3 * pixels as usize <= rgb.len())]
    #[requires(pixels as usize <= luma.len())]
    pub safe fn grayscale(pixels: u32, rgb: &[u8], luma: Out<[u8]>);
}

#[kernels("../../../tests/cu/by_hand/gather.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= index.len())]
    #[requires(product([rows, width, 1]) <= table.len())]
    #[requires(product([n, width, 1]) <= out.len())]
    pub safe fn gather_f32(n: u32, width: u32, rows: u32, index: &[u32], table: &[f32], out: Out<[f32]>);
}

#[kernels("../../../tests/cu/by_hand/normalize.cu")]
unsafe extern "CUDA" {
    #[requires(product([pixels, channels, 1]) <= x.len())]
    #[requires(product([pixels, channels, 1]) <= y.len())]
    #[requires(channels as usize <= mean.len())]
    #[requires(channels as usize <= deviation.len())]
    pub safe fn normalize_hwc(
        pixels: u32,
        channels: u32,
        mean: &[f32],
        deviation: &[f32],
        x: &[u8],
        y: Out<[f32]>,
    );

    #[requires(product([images, pixels, channels]) <= x.len())]
    #[requires(product([images, pixels, channels]) <= y.len())]
    #[requires(channels as usize <= mean.len())]
    #[requires(channels as usize <= deviation.len())]
    pub safe fn normalize_chw(
        images: u32,
        pixels: u32,
        channels: u32,
        mean: &[f32],
        deviation: &[f32],
        x: &[u8],
        y: Out<[f32]>,
    );
}

#[kernels("../../../tests/cu/by_hand/reduce.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= x.len())]
    #[requires(parts as usize <= sums.len())]
    pub safe fn sum_f32(n: u32, parts: u32, x: &[f32], sums: Out<[f64]>);

    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    #[requires(parts as usize <= sums.len())]
    pub safe fn dot_f32(n: u32, parts: u32, x: &[f32], y: &[f32], sums: Out<[f64]>);

    #[requires(n as usize <= x.len())]
    #[requires(parts as usize <= least.len())]
    pub safe fn min_f32(n: u32, parts: u32, x: &[f32], least: Out<[f32]>);
}

#[kernels("../../../tests/cu/by_hand/filter.cu")]
unsafe extern "CUDA" {
    #[requires(product([images, rows, columns]) <= x.len())]
    #[requires(product([images, rows, columns]) <= y.len())]
    #[requires((2 * radius as usize) < weights.len())]
    pub safe fn blur_rows_f32(
        images: u32,
        rows: u32,
        columns: u32,
        radius: u32,
        weights: &[f32],
        x: &[f32],
        y: Out<[f32]>,
    );

    #[requires(product([images, rows, columns]) <= x.len())]
    #[requires(product([images, rows, columns]) <= y.len())]
    #[requires((2 * radius as usize) < weights.len())]
    pub safe fn blur_columns_f32(
        images: u32,
        rows: u32,
        columns: u32,
        radius: u32,
        weights: &[f32],
        x: &[f32],
        y: Out<[f32]>,
    );

    #[requires(product([images, rows, columns]) <= x.len())]
    #[requires(product([images, rows, columns]) <= sums.len())]
    pub safe fn box_rows_u8(images: u32, rows: u32, columns: u32, radius: u32, x: &[u8], sums: Out<[u32]>);

    #[requires(product([images, rows, columns]) <= x.len())]
    #[requires(product([images, rows, columns]) <= y.len())]
    pub safe fn sobel_f32(images: u32, rows: u32, columns: u32, x: &[f32], y: Out<[f32]>);

    #[requires(product([images, rows, columns]) <= x.len())]
    #[requires(product([images, rows, columns]) <= y.len())]
    pub safe fn sobel_u8(images: u32, rows: u32, columns: u32, x: &[u8], y: Out<[u8]>);
}

#[kernels("../../../tests/cu/by_hand/box_columns.cu")]
unsafe extern "CUDA" {
    #[requires(radius <= 2047)]
    #[requires(product([images, rows, columns]) <= sums.len())]
    #[requires(product([images, rows, columns]) <= y.len())]
    pub safe fn box_columns_u8(images: u32, rows: u32, columns: u32, radius: u32, sums: &[u32], y: Out<[u8]>);
}

#[kernels("../../../tests/cu/by_hand/stencil.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize + 2 <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn stencil_3(n: u32, w0: f32, w1: f32, w2: f32, x: &[f32], y: Out<[f32]>);

    #[requires(n as usize + 4 <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn stencil_5(n: u32, w0: f32, w1: f32, w2: f32, w3: f32, w4: f32, x: &[f32], y: Out<[f32]>);

    #[requires(product([rows, columns, 1]).saturating_add(2 * columns as usize) <= u.len())]
    #[requires(product([rows, columns, 1]) <= v.len())]
    pub safe fn jacobi(rows: u32, columns: u32, first: u32, height: u32, u: &[f32], v: Out<[f32]>);
}

#[kernels("../../../tests/cu/by_hand/black_scholes.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= spot.len())]
    #[requires(n as usize <= strike.len())]
    #[requires(n as usize <= years.len())]
    #[requires(n as usize <= volatility.len())]
    #[requires(n as usize <= call.len())]
    #[requires(n as usize <= put.len())]
    pub safe fn black_scholes(
        n: u32,
        rate: f32,
        spot: &[f32],
        strike: &[f32],
        years: &[f32],
        volatility: &[f32],
        call: Out<[f32]>,
        put: Out<[f32]>,
    );
}

#[kernels("../../../tests/cu/by_hand/transpose.cu")]
unsafe extern "CUDA" {
    #[requires(product([batch, rows, columns]) <= x.len())]
    #[requires(product([batch, rows, columns]) <= y.len())]
    pub safe fn transpose(batch: u32, rows: u32, columns: u32, x: &[f32], y: Out<[f32]>);
}

#[kernels("../../../tests/cu/by_hand/matmul.cu")]
unsafe extern "CUDA" {
    #[requires(product([m, k, 1]) <= a.len())]
    #[requires(product([k, n, 1]) <= b.len())]
    #[requires(product([m, n, 1]) <= c.len())]
    pub safe fn matmul(m: u32, n: u32, k: u32, a: &[f32], b: &[f32], c: Out<[f32]>);
}

#[kernels("../../../tests/cu/by_hand/top_k.cu")]
unsafe extern "CUDA" {
    #[requires(0 < k)]
    #[requires(k <= 1024)]
    #[requires(product([rows, columns, 1]) <= scores.len())]
    #[requires(product([rows, k, 1]) <= values.len())]
    #[requires(product([rows, k, 1]) <= indices.len())]
    pub safe fn top_k(
        rows: u32,
        columns: u32,
        k: u32,
        scores: &[f32],
        values: Out<[f32]>,
        indices: Out<[u32]>,
    );

    #[requires(k <= 1024)]
    #[requires(product([rows, k, 1]) <= values.len())]
    #[requires(product([rows, k, 1]) <= indices.len())]
    #[requires(product([rows, k, 1]) <= best_values.len())]
    #[requires(product([rows, k, 1]) <= best_indices.len())]
    pub safe fn top_k_merge(
        rows: u32,
        k: u32,
        offset: u32,
        values: &[f32],
        indices: &[u32],
        best_values: &mut [f32],
        best_indices: &mut [u32],
    );
}

#[kernels("../../../tests/cu/by_hand/histogram.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= x.len())]
    #[requires(bins as usize <= counts.len())]
    pub safe fn histogram_f32(n: u32, bins: u32, low: f32, high: f32, x: &[f32], counts: &mut [u32]);
}
