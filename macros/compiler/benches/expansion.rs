//! How long `stream_pipeline!` takes to expand, and how that grows:
//! `cargo bench -p thalweg-compiler --bench expansion`.

#[path = "../tests/common/chain.rs"]
mod chain;

use std::str::FromStr;
use std::time::{Duration, Instant};

use chain::{Form, count, pipeline};
use proc_macro2::TokenStream;

const STAGES: [usize; 6] = [5, 10, 20, 50, 100, 200];
/// Each is measured as often as fits in this time, and at least as often as the second says.
const TIME: Duration = Duration::from_millis(500);
const LEAST_RUNS: usize = 5;

struct Row {
    stages: usize,
    tokens: usize,
    median: Duration,
    /// The run that was disturbed least: growth is seen best in these.
    fastest: Duration,
}

/// Expands a pipeline of so many stages again and again.
fn measure(form: Form, stages: usize) -> Row {
    let text = pipeline(form, stages);
    let tokens = TokenStream::from_str(&text).expect("the pipeline lexes");
    let expanded = thalweg_compiler::stream_pipeline(tokens.clone());
    let text = expanded.to_string();
    assert!(!text.contains("compile_error"), "the pipeline is sound: {text}");
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.len() < LEAST_RUNS || begin.elapsed() < TIME {
        let tokens = tokens.clone();
        let start = Instant::now();
        let expanded = thalweg_compiler::stream_pipeline(tokens);
        times.push(start.elapsed());
        drop(expanded);
    }
    times.sort_unstable();
    Row { stages, tokens: count(expanded), median: times[times.len() / 2], fastest: times[0] }
}

/// The power of the number of stages with which the time grows.
fn exponent(from: &Row, to: &Row) -> f64 {
    let times = to.fastest.as_secs_f64() / from.fastest.as_secs_f64();
    times.ln() / (to.stages as f64 / from.stages as f64).ln()
}

fn main() {
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
