//! How long `stream_pipeline!` takes to expand, and how that grows, and how long `#[kernel]` takes:
//! `cargo bench -p thalweg-compiler --bench expansion`.

#[path = "../tests/common/chain.rs"]
mod chain;

use std::str::FromStr;
use std::time::{Duration, Instant};

use chain::{Form, count, pipeline};
use proc_macro2::TokenStream;
use thalweg_compiler::rust_kernels::{Role, expand};

const STAGES: [usize; 6] = [5, 10, 20, 50, 100, 200];
/// Each is measured as often as fits in this time, and at least as often as the second says.
const TIME: Duration = Duration::from_millis(500);
const LEAST_RUNS: usize = 5;

/// A kernel of 50 lines: reductions of rows, with loops, branches, tuples, arrays, labels and methods.
const KERNEL: &str = r#"
#[requires(weights.len() == taps && scale.len() == offset.len())]
fn filtered(i: Index, taps: usize, columns: usize, x: &[f32], weights: &[f32], scale: &[f32], offset: &[f32],
            limits: [f32; 2], y: &mut Own<[f32]>, kinds: &mut Out<[u32]>) {
    const BINS: usize = 8;
    let Some(y) = y.get_mut(i) else { return };
    let Some(kind) = kinds.get_mut(i) else { return };
    let (row, column) = (i.get() / columns, i.get() % columns);
    if row * columns + columns > x.len() {
        return;
    }
    let line = &x[row * columns..row * columns + columns];
    let (mut sum, mut weight) = (0.0, 0.0);
    let mut bins = [0_u32; BINS];
    for j in 0..taps {
        let at = (column + j).saturating_sub(taps / 2).min(columns - 1);
        let value = line[at];
        if value.is_nan() {
            continue;
        }
        sum += weights[j] * value;
        weight += weights[j];
        let bin = ((value - limits[0]) / (limits[1] - limits[0]) * BINS as f32).clamp(0.0, 7.0);
        bins[bin as usize & 7] += 1;
    }
    let mean = if weight > 0.0 { sum / weight } else { 0.0 };
    let mut most = (0, bins[0]);
    for (bin, count) in bins.iter().enumerate() {
        if *count > most.1 {
            most = (bin, *count);
        }
    }
    let mut left = column;
    let nearest = 'search: loop {
        for distance in 0..4_usize {
            if left >= distance && line[left - distance] > mean {
                break 'search left - distance;
            }
        }
        if left < 4 {
            break column;
        }
        left -= 4;
    };
    let at = i.get() % scale.len();
    let spread = (line[nearest] - mean).abs().sqrt().mul_add(scale[at], offset[at]);
    *kind = match most.0 {
        0 => 1,
        1..=5 if spread > 1.0 => 2 + most.1,
        _ => (nearest as u32).wrapping_mul(31) ^ most.1,
    };
    *y += mean.max(limits[0]).min(limits[1]) + spread.exp().ln_1p() * (column as f32 / columns as f32);
}
"#;

struct Row {
    stages: usize,
    tokens: usize,
    median: Duration,
    /// The run that was disturbed least: growth is seen best in these.
    fastest: Duration,
}

/// The times of something that is done again and again, in their order.
fn times(mut run: impl FnMut() -> TokenStream) -> Vec<Duration> {
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.len() < LEAST_RUNS || begin.elapsed() < TIME {
        let start = Instant::now();
        let expanded = run();
        times.push(start.elapsed());
        drop(expanded);
    }
    times.sort_unstable();
    times
}

/// Expands a pipeline of so many stages again and again.
fn measure(form: Form, stages: usize) -> Row {
    let text = pipeline(form, stages);
    let tokens = TokenStream::from_str(&text).expect("the pipeline lexes");
    let expanded = thalweg_compiler::stream_pipeline(tokens.clone());
    let text = expanded.to_string();
    assert!(!text.contains("compile_error"), "the pipeline is sound: {text}");
    let times = times(|| thalweg_compiler::stream_pipeline(tokens.clone()));
    Row { stages, tokens: count(expanded), median: times[times.len() / 2], fastest: times[0] }
}

/// The power of the number of stages with which the time grows.
fn exponent(from: &Row, to: &Row) -> f64 {
    let times = to.fastest.as_secs_f64() / from.fastest.as_secs_f64();
    times.ln() / (to.stages as f64 / from.stages as f64).ln()
}

/// Expands a kernel again and again.
fn of_a_kernel() {
    let function = TokenStream::from_str(KERNEL).expect("the kernel lexes");
    let expanded = || expand(Role::Kernel, TokenStream::new(), function.clone());
    let text = expanded().to_string();
    assert!(!text.contains("compile_error"), "the kernel is sound: {text}");
    let times = times(expanded);
    let [median, fastest] = [times[times.len() / 2], times[0]].map(|time| time.as_secs_f64() * 1e3);
    println!(
        "a kernel of {} lines: median {median:.2} ms, fastest {fastest:.2} ms",
        KERNEL.trim().lines().count()
    );
}

fn main() {
    of_a_kernel();
    let forms =
        [("auto", Form::Auto), ("manual", Form::Manual), ("auto, each two stages in conflict", Form::Shared)];
    for (name, form) in forms {
        println!("{name}\n  stages    tokens  median ms  fastest ms  exponent");
        let mut rows: Vec<Row> = Vec::new();
        for stages in STAGES {
            let row = measure(form, stages);
            let growth = rows.last().map_or(String::new(), |last| format!("{:10.2}", exponent(last, &row)));
            let [median, fastest] = [row.median, row.fastest].map(|time| time.as_secs_f64() * 1e3);
            println!("{stages:8}{:10}{median:11.2}{fastest:12.2}{growth}", row.tokens);
            rows.push(row);
        }
        if let (Some(from), Some(to)) = (rows.iter().find(|row| row.stages == 20), rows.last()) {
            println!(
                "growth from {} to {} stages: exponent {:.2}\n",
                from.stages,
                to.stages,
                exponent(from, to)
            );
        }
    }
}
