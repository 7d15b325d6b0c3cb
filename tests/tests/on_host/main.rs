//! CUDA C++ on the host, where `g++` compiles it: what the headers that stand for CUDA do, and kernels
//! compared with Rust. Nothing here needs a GPU.

mod blocks;
mod harness;
mod kernels;
mod order;
mod random;
mod refused;
mod scatter;
mod tiles;

use thalweg_tests::on_host::{Checks, OnHost, Program};

/// Where compiled programs are kept.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/on-host");

/// Compiles a text that must compile.
#[track_caller]
fn compiled(file: &str, text: &str, kernels: &[&str], checks: Checks) -> OnHost {
    OnHost::compile(FOLDER, &Program { file, text, kernels, checks, flags: &[] })
        .unwrap_or_else(|error| panic!("{file}: {error}"))
}
