//! `y <- a * x + y` over 64 Mi elements, in chunks, on the GPU or on the CPU, and beside a plain loop.
//!
//! ```text
//! cargo run --release -p thalweg-kernels --example quickstart
//! ```
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.

use std::process::ExitCode;
use std::time::Instant;

use rayon::prelude::*;
use thalweg::prelude::*;

// ANCHOR: pipeline
/// `y[i] += a * x[i]`.
#[kernel]
fn saxpy(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += a * x[i];
}

stream_pipeline! {
    /// `y <- a * x + y`, chunk by chunk.
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
        stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}
// ANCHOR_END: pipeline

const ELEMENTS: usize = 1 << 26;
const A: f32 = 3.0;

fn main() -> ExitCode {
    let Some(devices) = devices() else {
        eprintln!("usage: quickstart [--devices all]");
        return ExitCode::FAILURE;
    };
    match devices.and_then(|devices| quickstart(&devices)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The device to run on, or all of them; `None` if the arguments are wrong.
fn devices() -> Option<thalweg::Result<Vec<Device>>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some(Device::open().map(|device| vec![device])),
        ["--devices", "all"] => Some(Device::all()),
        _ => None,
    }
}

/// Whether every element came out right.
fn quickstart(devices: &[Device]) -> thalweg::Result<bool> {
    devices.iter().for_each(|device| println!("device: {device}"));
    println!();
    println!("{}", Saxpy::PLAN);

    let x: Vec<f32> = (0..ELEMENTS as u32).into_par_iter().map(|i| sample(2 * i)).collect();
    let start: Vec<f32> = (0..ELEMENTS as u32).into_par_iter().map(|i| sample(2 * i + 1)).collect();
    let mut y = start.clone();

    let clock = Instant::now();
    // ANCHOR: run
    let mut saxpy = Saxpy::new(devices)?;
    let report = saxpy.run(A, &x, &mut y)?;
    // ANCHOR_END: run
    let wall = clock.elapsed();
    println!("{report}");
    let clock = Instant::now();
    let mut plain = start.clone();
    let copied = clock.elapsed();
    plain.par_iter_mut().zip(&x).for_each(|(y, x)| *y += A * x);
    let of_loop = clock.elapsed() - copied;
    println!(
        "  {:.1} ms, and a plain loop over all cores {:.1} ms, by this machine's clock\n",
        wall.as_secs_f64() * 1e3,
        of_loop.as_secs_f64() * 1e3
    );
    drop(plain);

    let max_error = y
        .par_iter()
        .zip(&start)
        .zip(&x)
        .map(|((&y, &start), &x)| (f64::from(y) - (f64::from(A) * f64::from(x) + f64::from(start))).abs())
        .reduce(|| 0.0, f64::max);
    println!("quickstart: {ELEMENTS} elements, max error {max_error}, {}", report.device);
    Ok(max_error == 0.0)
}

/// A pseudo-random number in -512..512 with 13 bits after the point, so that products with small whole
/// numbers, and their sums, are exact in `f32`: the result is the same wherever it is computed.
fn sample(index: u32) -> f32 {
    let mut bits = u64::from(index).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let whole = ((bits >> 42) as i32) - (1 << 21);
    whole as f32 / 4096.0
}
