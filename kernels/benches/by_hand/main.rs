//! How fast the kernels in Rust are, beside the same written by hand in CUDA C++. Each pair takes turns in one run, on
//! the same random data, and its results are compared.
//!
//! ```text
//! cargo bench -p thalweg-kernels --bench by_hand [-- NAME… --rounds N]
//! ```
//!
//! Pairs whose name contains one of the names are measured, or all. It needs a CUDA device and NVRTC, and nothing of
//! this folder: the sources are in the program. Bounds are checked and overflow is not, as in every release build.
//!
//! `histogram_u8` is the crate's in CUDA C++ beside the one of `histogram.rs`.
//!
//! To add a pair, declare the kernel by hand in `declared.rs` and write the two launches below.

mod declared;
mod histogram;
mod measure;

use declared as by_hand;
use measure::Work::{Bytes, Operations};
use measure::{Bench, bits};
use thalweg::kernel::{Shaped, blocks};
use thalweg::prelude::*;
use thalweg_kernels as in_rust;

/// The elements of most arrays.
const N: usize = 64 << 20;
/// The side of a square of as many.
const SIDE: u32 = 8192;
/// What rounding differently may do to values of about 1: kernels by hand fuse products and sums.
const ROUNDED: f64 = 1e-5;

fn main() -> thalweg::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (mut names, mut rounds) = (Vec::new(), 15);
    while let Some(argument) = arguments.next() {
        match &*argument {
            // Cargo's.
            "--bench" => {}
            "--rounds" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                rounds = number.expect("a number of rounds");
            }
            _ => names.push(argument),
        }
    }
    let bench = Bench::new(names, rounds)?;
    matrices(&bench)?;
    maps(&bench)?;
    tables(&bench)?;
    reductions(&bench)?;
    images(&bench)?;
    stencils(&bench)?;
    counts(&bench)?;
    lists(&bench)
}

fn matrices(bench: &Bench) -> thalweg::Result<()> {
    if bench.wants("transpose") {
        let x = bench.floats(1, N)?;
        let (hand, rust) =
            (by_hand::transpose::load(&bench.device)?, in_rust::transpose::load(&bench.device)?);
        let (side, grid) = (SIDE as usize, (blocks(SIDE as usize, 32), blocks(SIDE as usize, 32)));
        bench.pair(
            "transpose",
            Bytes(8 * N),
            0.0,
            || Ok(vec![DeviceBuf::<f32>::zeroed(&bench.device, N)?]),
            |stream, y| hand.launch(stream.config(grid, 256, 0), 1, SIDE, SIDE, &x, &mut y[0]),
            |stream, y| {
                let y = Shaped::new(&mut y[0], [1, side, side]);
                rust.launch(stream.config(grid, 256, 0), &x, y)
            },
        )?;
    }
    for size in [2048, 4096] {
        let name = format!("matmul {size}");
        if !bench.wants(&name) {
            continue;
        }
        let n = size as usize;
        let (a, b) = (bench.floats(1, n * n)?, bench.floats(2, n * n)?);
        let (hand, rust) = (by_hand::matmul::load(&bench.device)?, in_rust::matmul::load(&bench.device)?);
        let grid = (blocks(n, 128), blocks(n, 128));
        bench.pair(
            &name,
            Operations(2 * n * n * n),
            0.0,
            || Ok(vec![DeviceBuf::<f32>::zeroed(&bench.device, n * n)?]),
            |stream, c| hand.launch(stream.config(grid, 256, 0), size, size, size, &a, &b, &mut c[0]),
            |stream, c| {
                let c = Shaped::new(&mut c[0], [n, n]);
                rust.launch(stream.config(grid, 256, 0), size, &a, &b, c)
            },
        )?;
    }
    Ok(())
}

fn maps(bench: &Bench) -> thalweg::Result<()> {
    let (device, n, grid) = (&bench.device, N as u32, blocks(N, 256));
    let zeroed = || Ok(vec![DeviceBuf::<f32>::zeroed(device, N)?]);
    if bench.wants("saxpy") {
        let x = bench.floats(1, N)?;
        let (hand, rust) = (by_hand::saxpy::load(device)?, in_rust::saxpy::load(device)?);
        bench.pair(
            "saxpy",
            Bytes(12 * N),
            ROUNDED,
            || Ok(vec![bench.floats(2, N)?]),
            |stream, y| hand.launch(stream.config(grid, 256, 0), n, 1.7, &x, &mut y[0]),
            |stream, y| rust.launch(stream.config(grid, 256, 0), 1.7, &x, &mut y[0]),
        )?;
    }
    if bench.wants("scale_f32") {
        let x = bench.floats(1, N)?;
        let (hand, rust) = (by_hand::scale_f32::load(device)?, in_rust::scale_f32::load(device)?);
        bench.pair(
            "scale_f32",
            Bytes(8 * N),
            0.0,
            zeroed,
            |stream, y| hand.launch(stream.config(grid, 256, 0), n, 1.7, 0.3, &x, &mut y[0]),
            |stream, y| rust.launch(stream.config(grid, 256, 0), 1.7, 0.3, &x, &mut y[0]),
        )?;
    }
    if bench.wants("add_f32") {
        let (x, y) = (bench.floats(1, N)?, bench.floats(2, N)?);
        let (hand, rust) = (by_hand::add_f32::load(device)?, in_rust::add_f32::load(device)?);
        bench.pair(
            "add_f32",
            Bytes(12 * N),
            0.0,
            zeroed,
            |stream, z| hand.launch(stream.config(grid, 256, 0), n, &x, &y, &mut z[0]),
            |stream, z| rust.launch(stream.config(grid, 256, 0), &x, &y, &mut z[0]),
        )?;
    }
    if bench.wants("exp_f32") {
        let x = bench.floats(1, N)?;
        let (hand, rust) = (by_hand::exp_f32::load(device)?, in_rust::exp_f32::load(device)?);
        bench.pair(
            "exp_f32",
            Bytes(8 * N),
            ROUNDED,
            zeroed,
            |stream, y| hand.launch(stream.config(grid, 256, 0), n, &x, &mut y[0]),
            |stream, y| rust.launch(stream.config(grid, 256, 0), &x, &mut y[0]),
        )?;
    }
    if bench.wants("sqrt_f32") {
        let x = bench.floats(1, N)?;
        let (hand, rust) = (by_hand::sqrt_f32::load(device)?, in_rust::sqrt_f32::load(device)?);
        bench.pair(
            "sqrt_f32",
            Bytes(8 * N),
            0.0,
            zeroed,
            |stream, y| hand.launch(stream.config(grid, 256, 0), n, &x, &mut y[0]),
            |stream, y| rust.launch(stream.config(grid, 256, 0), &x, &mut y[0]),
        )?;
    }
    if bench.wants("clamp_f32") {
        let x = bench.floats(1, N)?;
        let (hand, rust) = (by_hand::clamp_f32::load(device)?, in_rust::clamp_f32::load(device)?);
        bench.pair(
            "clamp_f32",
            Bytes(8 * N),
            0.0,
            zeroed,
            |stream, y| hand.launch(stream.config(grid, 256, 0), n, 0.2, 0.7, &x, &mut y[0]),
            |stream, y| rust.launch(stream.config(grid, 256, 0), 0.2, 0.7, &x, &mut y[0]),
        )?;
    }
    if bench.wants("black_scholes") {
        let [spot, strike, years, volatility] = [1, 2, 3, 4].map(|seed| bench.floats(seed, N));
        let (spot, strike, years, volatility) = (spot?, strike?, years?, volatility?);
        let (hand, rust) = (by_hand::black_scholes::load(device)?, in_rust::black_scholes::load(device)?);
        bench.pair(
            "black_scholes",
            Bytes(24 * N),
            ROUNDED,
            || Ok(vec![DeviceBuf::<f32>::zeroed(device, N)?, DeviceBuf::<f32>::zeroed(device, N)?]),
            |stream, prices| {
                let (call, put) = prices.split_at_mut(1);
                let config = stream.config(grid, 256, 0);
                hand.launch(config, n, 0.02, &spot, &strike, &years, &volatility, &mut call[0], &mut put[0])
            },
            |stream, prices| {
                let (call, put) = prices.split_at_mut(1);
                let config = stream.config(grid, 256, 0);
                rust.launch(config, 0.02, &spot, &strike, &years, &volatility, &mut call[0], &mut put[0])
            },
        )?;
    }
    Ok(())
}

fn tables(bench: &Bench) -> thalweg::Result<()> {
    const WIDTH: usize = 64;
    let device = &bench.device;
    if bench.wants("gather_f32") {
        let rows = N / WIDTH;
        let index: Vec<u32> = (0..rows).map(|i| (bits(5, i) % rows as u64) as u32).collect();
        let (index, table) = (bench.on_device(&index)?, bench.floats(1, N)?);
        let (hand, rust) = (by_hand::gather_f32::load(device)?, in_rust::gather_f32::load(device)?);
        let (grid, width, rows) = (blocks(N, 256), WIDTH as u32, rows as u32);
        bench.pair(
            "gather_f32",
            Bytes(8 * N),
            0.0,
            || Ok(vec![DeviceBuf::<f32>::zeroed(device, N)?]),
            |stream, y| {
                hand.launch(stream.config(grid, 256, 0), rows, width, rows, &index, &table, &mut y[0])
            },
            |stream, y| rust.launch(stream.config(grid, 256, 0), width, rows, &index, &table, &mut y[0]),
        )?;
    }
    Ok(())
}

fn reductions(bench: &Bench) -> thalweg::Result<()> {
    const PARTS: u32 = 1056;
    let (device, n) = (&bench.device, N as u32);
    let total = |sums: &[f64]| sums.iter().sum::<f64>();
    let sums = || Ok(vec![DeviceBuf::<f64>::zeroed(device, PARTS as usize)?]);
    if bench.wants("sum_f32") {
        let x = bench.floats(1, N)?;
        let (hand, rust) = (by_hand::sum_f32::load(device)?, in_rust::sum_f32::load(device)?);
        bench.pair_in_parts(
            "sum_f32",
            Bytes(4 * N),
            // Of 2^26 terms, whose sums are in another order.
            1e-12,
            sums,
            total,
            |stream, y| hand.launch(stream.config(PARTS, 256, 0), n, PARTS, &x, &mut y[0]),
            |stream, y| rust.launch(stream.config(PARTS, 256, 0), &x, &mut y[0]),
        )?;
    }
    if bench.wants("dot_f32") {
        let (x, y) = (bench.floats(1, N)?, bench.floats(2, N)?);
        let (hand, rust) = (by_hand::dot_f32::load(device)?, in_rust::dot_f32::load(device)?);
        bench.pair_in_parts(
            "dot_f32",
            Bytes(8 * N),
            1e-12,
            sums,
            total,
            |stream, sums| hand.launch(stream.config(PARTS, 256, 0), n, PARTS, &x, &y, &mut sums[0]),
            |stream, sums| rust.launch(stream.config(PARTS, 256, 0), &x, &y, &mut sums[0]),
        )?;
    }
    if bench.wants("min_f32") {
        let x = bench.floats(1, N)?;
        let (hand, rust) = (by_hand::min_f32::load(device)?, in_rust::min_f32::load(device)?);
        bench.pair_in_parts(
            "min_f32",
            Bytes(4 * N),
            0.0,
            || Ok(vec![DeviceBuf::<f32>::zeroed(device, PARTS as usize)?]),
            |least| least.iter().copied().fold(f32::INFINITY, f32::min),
            |stream, y| hand.launch(stream.config(PARTS, 256, 0), n, PARTS, &x, &mut y[0]),
            |stream, y| rust.launch(stream.config(PARTS, 256, 0), &x, &mut y[0]),
        )?;
    }
    Ok(())
}

fn images(bench: &Bench) -> thalweg::Result<()> {
    const RADIUS: u32 = 8;
    let (device, side) = (&bench.device, SIDE as usize);
    let shape = [1, side, side];
    // A thread for each pixel, where no other is written.
    let (grid, block) = ((blocks(side, 32), blocks(side, 8), 1), (32, 8, 1));
    let zeroed = || Ok(vec![DeviceBuf::<f32>::zeroed(device, N)?]);
    let weights = bench.on_device(&in_rust::gaussian(RADIUS, 3.0))?;
    if bench.wants("grayscale") {
        let rgb = bench.bytes(1, 3 * N)?;
        let (hand, rust) = (by_hand::grayscale::load(device)?, in_rust::grayscale::load(device)?);
        bench.pair(
            "grayscale",
            Bytes(4 * N),
            0.0,
            || Ok(vec![DeviceBuf::<u8>::zeroed(device, N)?]),
            |stream, y| hand.launch(stream.config(blocks(N, 256), 256, 0), N as u32, &rgb, &mut y[0]),
            |stream, y| rust.launch(stream.config(blocks(N, 256), 256, 0), &rgb, &mut y[0]),
        )?;
    }
    let (mean, deviation) = (bench.on_device(&[0.4_f32, 0.5, 0.6])?, bench.on_device(&[0.2_f32, 0.3, 0.4])?);
    let (pixels, images) = (1 << 20, 21);
    let values = 3 * pixels * images;
    if bench.wants("normalize_hwc") {
        let x = bench.bytes(1, values)?;
        let (hand, rust) = (by_hand::normalize_hwc::load(device)?, in_rust::normalize_hwc::load(device)?);
        let (all, grid) = ((pixels * images) as u32, blocks(values, 256));
        bench.pair(
            "normalize_hwc",
            Bytes(5 * values),
            0.0,
            || Ok(vec![DeviceBuf::<f32>::zeroed(device, values)?]),
            |stream, y| hand.launch(stream.config(grid, 256, 0), all, 3, &mean, &deviation, &x, &mut y[0]),
            |stream, y| rust.launch(stream.config(grid, 256, 0), 3, &mean, &deviation, &x, &mut y[0]),
        )?;
    }
    if bench.wants("normalize_chw") {
        let x = bench.bytes(1, values)?;
        let (hand, rust) = (by_hand::normalize_chw::load(device)?, in_rust::normalize_chw::load(device)?);
        let of_image = pixels as u32;
        bench.pair(
            "normalize_chw",
            Bytes(5 * values),
            0.0,
            || Ok(vec![DeviceBuf::<f32>::zeroed(device, values)?]),
            |stream, y| {
                // A thread for each pixel.
                let config = stream.config(blocks(pixels * images, 256), 256, 0);
                hand.launch(config, images as u32, of_image, 3, &mean, &deviation, &x, &mut y[0])
            },
            |stream, y| {
                let config = stream.config((blocks(pixels, 1024), 1, images as u32), 256, 0);
                let y = Shaped::new(&mut y[0], [images, 3, pixels]);
                rust.launch(config, of_image, 3, &mean, &deviation, &x, y)
            },
        )?;
    }
    if bench.wants("blur_rows_f32") {
        let x = bench.floats(1, N)?;
        let (hand, rust) = (by_hand::blur_rows_f32::load(device)?, in_rust::blur_rows_f32::load(device)?);
        bench.pair(
            "blur_rows_f32",
            Bytes(8 * N),
            ROUNDED,
            zeroed,
            |stream, y| {
                let config = stream.config(grid, block, 0);
                hand.launch(config, 1, SIDE, SIDE, RADIUS, &weights, &x, &mut y[0])
            },
            |stream, y| {
                let (config, y) = (stream.config(grid, block, 0), Shaped::new(&mut y[0], shape));
                rust.launch(config, SIDE, SIDE, RADIUS, &weights, &x, y)
            },
        )?;
    }
    if bench.wants("blur_columns_f32") {
        let x = bench.floats(1, N)?;
        let (hand, rust) =
            (by_hand::blur_columns_f32::load(device)?, in_rust::blur_columns_f32::load(device)?);
        bench.pair(
            "blur_columns_f32",
            Bytes(8 * N),
            ROUNDED,
            zeroed,
            |stream, y| {
                let config = stream.config(grid, block, 0);
                hand.launch(config, 1, SIDE, SIDE, RADIUS, &weights, &x, &mut y[0])
            },
            |stream, y| {
                let grid = (blocks(side, 32), blocks(side, 32), 1);
                let (config, y) = (stream.config(grid, 256, 0), Shaped::new(&mut y[0], shape));
                rust.launch(config, SIDE, SIDE, RADIUS, &weights, &x, y)
            },
        )?;
    }
    if bench.wants("box_rows_u8") {
        let x = bench.bytes(1, N)?;
        let (hand, rust) = (by_hand::box_rows_u8::load(device)?, in_rust::box_rows_u8::load(device)?);
        bench.pair(
            "box_rows_u8",
            Bytes(5 * N),
            0.0,
            || Ok(vec![DeviceBuf::<u32>::zeroed(device, N)?]),
            |stream, y| hand.launch(stream.config(grid, block, 0), 1, SIDE, SIDE, RADIUS, &x, &mut y[0]),
            |stream, y| {
                let grid = (blocks(side, 128), blocks(side, 8), 1);
                let (config, y) = (stream.config(grid, 256, 0), Shaped::new(&mut y[0], shape));
                rust.launch(config, SIDE, SIDE, RADIUS, &x, y)
            },
        )?;
    }
    // The time of both grows with the radius.
    for radius in [RADIUS, 8 * RADIUS] {
        let name = format!("box_columns_u8 {radius}");
        if !bench.wants(&name) {
            continue;
        }
        let most = 255 * (2 * u64::from(radius) + 1);
        let sums = bench.on_device(&(0..N).map(|i| (bits(1, i) % most) as u32).collect::<Vec<_>>())?;
        let (hand, rust) = (by_hand::box_columns_u8::load(device)?, in_rust::box_columns_u8::load(device)?);
        bench.pair(
            &name,
            Bytes(5 * N),
            0.0,
            || Ok(vec![DeviceBuf::<u8>::zeroed(device, N)?]),
            |stream, y| {
                // A thread walks down 32 rows.
                let config = stream.config((blocks(side, 32), blocks(side, 8 * 32), 1), block, 0);
                hand.launch(config, 1, SIDE, SIDE, radius, &sums, &mut y[0])
            },
            |stream, y| {
                let grid = (blocks(side, 128), blocks(side, 32), 1);
                let (config, y) = (stream.config(grid, 128, 0), Shaped::new(&mut y[0], shape));
                rust.launch(config, SIDE, SIDE, radius, &sums, y)
            },
        )?;
    }
    if bench.wants("sobel_f32") {
        let x = bench.floats(1, N)?;
        let (hand, rust) = (by_hand::sobel_f32::load(device)?, in_rust::sobel_f32::load(device)?);
        bench.pair(
            "sobel_f32",
            Bytes(8 * N),
            ROUNDED,
            zeroed,
            |stream, y| hand.launch(stream.config(grid, block, 0), 1, SIDE, SIDE, &x, &mut y[0]),
            |stream, y| {
                let (config, y) = (stream.config(grid, block, 0), Shaped::new(&mut y[0], shape));
                rust.launch(config, SIDE, SIDE, &x, y)
            },
        )?;
    }
    if bench.wants("sobel_u8") {
        let x = bench.bytes(1, N)?;
        let (hand, rust) = (by_hand::sobel_u8::load(device)?, in_rust::sobel_u8::load(device)?);
        bench.pair(
            "sobel_u8",
            Bytes(2 * N),
            0.0,
            || Ok(vec![DeviceBuf::<u8>::zeroed(device, N)?]),
            |stream, y| hand.launch(stream.config(grid, block, 0), 1, SIDE, SIDE, &x, &mut y[0]),
            |stream, y| {
                let (config, y) = (stream.config(grid, block, 0), Shaped::new(&mut y[0], shape));
                rust.launch(config, SIDE, SIDE, &x, y)
            },
        )?;
    }
    Ok(())
}

fn stencils(bench: &Bench) -> thalweg::Result<()> {
    let (device, side, n) = (&bench.device, SIDE as usize, N as u32);
    let zeroed = || Ok(vec![DeviceBuf::<f32>::zeroed(device, N)?]);
    if bench.wants("stencil_3") {
        let x = bench.floats(1, N + 2)?;
        let (hand, rust) = (by_hand::stencil_3::load(device)?, in_rust::stencil_3::load(device)?);
        let grid = blocks(N, 256);
        bench.pair(
            "stencil_3",
            Bytes(8 * N),
            ROUNDED,
            zeroed,
            |stream, y| hand.launch(stream.config(grid, 256, 0), n, 0.2, 0.5, 0.3, &x, &mut y[0]),
            |stream, y| rust.launch(stream.config(grid, 256, 0), 0.2, 0.5, 0.3, &x, &mut y[0]),
        )?;
    }
    if bench.wants("stencil_5") {
        let x = bench.floats(1, N + 4)?;
        let (hand, rust) = (by_hand::stencil_5::load(device)?, in_rust::stencil_5::load(device)?);
        let grid = blocks(N, 256);
        bench.pair(
            "stencil_5",
            Bytes(8 * N),
            ROUNDED,
            zeroed,
            |stream, y| hand.launch(stream.config(grid, 256, 0), n, 0.1, 0.2, 0.4, 0.2, 0.1, &x, &mut y[0]),
            |stream, y| rust.launch(stream.config(grid, 256, 0), 0.1, 0.2, 0.4, 0.2, 0.1, &x, &mut y[0]),
        )?;
    }
    if bench.wants("jacobi") {
        let u = bench.floats(1, N + 2 * side)?;
        let (hand, rust) = (by_hand::jacobi::load(device)?, in_rust::jacobi::load(device)?);
        let (grid, block) = ((blocks(side, 32), blocks(side, 8)), (32, 8));
        bench.pair(
            "jacobi",
            Bytes(8 * N),
            ROUNDED,
            zeroed,
            |stream, v| hand.launch(stream.config(grid, block, 0), SIDE, SIDE, 0, SIDE, &u, &mut v[0]),
            |stream, v| {
                let v = Shaped::new(&mut v[0], [side, side]);
                rust.launch(stream.config(grid, block, 0), SIDE, 0, SIDE, &u, v)
            },
        )?;
    }
    Ok(())
}

fn counts(bench: &Bench) -> thalweg::Result<()> {
    let device = &bench.device;
    if bench.wants("histogram_u8") {
        let x = bench.bytes(1, N)?;
        let hand = in_rust::histogram_u8::load(device)?;
        let rust = histogram::histogram_u8::load(device)?;
        bench.pair(
            "histogram_u8",
            Bytes(N),
            0.0,
            || Ok(vec![DeviceBuf::<u32>::zeroed(device, 256)?]),
            |stream, counts| hand.launch(stream.config(264, 256, 0), N as u32, &x, &mut counts[0]),
            // The best grid of each.
            |stream, counts| rust.launch(stream.config(528, 256, 0), N as u32, &x, &mut counts[0]),
        )?;
    }
    if bench.wants("histogram_f32") {
        const BINS: u32 = 256;
        let x = bench.floats(1, N)?;
        let (hand, rust) = (by_hand::histogram_f32::load(device)?, in_rust::histogram_f32::load(device)?);
        let shared = 8 * 4 * (BINS + 1);
        bench.pair(
            "histogram_f32",
            Bytes(4 * N),
            0.0,
            || Ok(vec![DeviceBuf::<u32>::zeroed(device, BINS as usize)?]),
            |stream, counts| {
                let config = stream.config(264, 256, shared);
                hand.launch(config, N as u32, BINS, 0.0, 1.0, &x, &mut counts[0])
            },
            |stream, counts| {
                let config = stream.config(264, 256, shared);
                rust.launch(config, N as u32, BINS, 0.0, 1.0, &x, &mut counts[0])
            },
        )?;
    }
    Ok(())
}

/// Lists of the largest of each row, and merges of two lists.
fn lists(bench: &Bench) -> thalweg::Result<()> {
    let device = &bench.device;
    for k in [10_u32, 100, 1000] {
        let name = format!("top_k {k}");
        if !bench.wants(&name) {
            continue;
        }
        let (rows, columns) = (2048_u32, 32_768_u32);
        let (scores, shape) = (bench.floats(1, N)?, [rows as usize, k as usize]);
        let indices = || DeviceBuf::<u32>::zeroed(device, shape[0] * shape[1]);
        let (mut of_hand, mut of_rust) = (indices()?, indices()?);
        let (hand, rust) = (by_hand::top_k::load(device)?, in_rust::top_k::load(device)?);
        bench.pair(
            &name,
            Bytes(4 * N),
            0.0,
            || Ok(vec![DeviceBuf::<f32>::zeroed(device, shape[0] * shape[1])?]),
            |stream, values| {
                let config = stream.config(rows, 256, 0);
                hand.launch(config, rows, columns, k, &scores, &mut values[0], &mut of_hand)
            },
            |stream, values| {
                let (config, values) = (stream.config(rows, 256, 0), Shaped::new(&mut values[0], shape));
                rust.launch(config, columns, &scores, values, Shaped::new(&mut of_rust, shape))
            },
        )?;
        assert_eq!(of_hand.to_vec()?, of_rust.to_vec()?, "{name}: the indices");
    }
    for k in [10_u32, 100, 1000] {
        let name = format!("top_k_merge {k}");
        if !bench.wants(&name) {
            continue;
        }
        let rows = (16 << 20) / k;
        let len = (rows * k) as usize;
        let sorted = |seed| {
            let mut scores: Vec<f32> = (0..len).map(|i| (bits(seed, i) >> 40) as f32).collect();
            scores.chunks_mut(k as usize).for_each(|list| list.sort_by(|a, b| b.total_cmp(a)));
            scores
        };
        let places: Vec<u32> = (0..len as u32).map(|i| i % k).collect();
        let (values, indices) = (bench.on_device(&sorted(1))?, bench.on_device(&places)?);
        let start = sorted(2);
        let (mut of_hand, mut of_rust) = (bench.on_device(&places)?, bench.on_device(&places)?);
        let (hand, rust) = (by_hand::top_k_merge::load(device)?, in_rust::top_k_merge::load(device)?);
        let threads = k.next_multiple_of(32);
        bench.pair(
            &name,
            Bytes(24 * len),
            0.0,
            || Ok(vec![bench.on_device(&start)?]),
            |stream, best| {
                let config = stream.config(rows, threads, 0);
                hand.launch(config, rows, k, 5000, &values, &indices, &mut best[0], &mut of_hand)
            },
            |stream, best| {
                let config = stream.config(rows, threads, 0);
                rust.launch(config, rows, k, 5000, &values, &indices, &mut best[0], &mut of_rust)
            },
        )?;
        // Each has merged the same list into its own as often.
        assert_eq!(of_hand.to_vec()?, of_rust.to_vec()?, "{name}: the indices");
    }
    Ok(())
}
