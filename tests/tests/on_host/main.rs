//! CUDA C++ on the host, where `g++` compiles it: what the headers that stand for CUDA do, and kernels
//! compared with Rust. Nothing here needs a GPU.

mod atomics;
mod blocks;
mod dynamic;
mod fetched;
mod halo;
mod harness;
mod jumps;
mod kernels;
mod lines;
mod order;
mod proved;
mod random;
mod refused;
mod scans;
mod scatter;
mod shifts;
mod sized;
mod tiles;
mod tree;
mod typed;
mod warps;

use thalweg::__private::{Kernel, KernelSource};
use thalweg_tests::on_host::{Checks, OnHost, Program};

/// Where compiled programs are kept.
const FOLDER: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/on-host");

/// Compiles a text that must compile.
#[track_caller]
fn compiled(file: &str, text: &str, kernels: &[&str], checks: Checks) -> OnHost {
    OnHost::compile(FOLDER, &Program { file, text, kernels, checks, flags: &[] })
        .unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A kernel in Rust as C++: the whole program, and the kernel's name in it.
fn in_cpp<K: Kernel>() -> (String, String) {
    let KernelSource::Rust(source) = K::INFO.module.source else { panic!("the kernel is in Rust") };
    let text = source.joined();
    // The kernel's namespace comes last, after those of the functions that it calls.
    let (_, last) = text.rsplit_once("\nnamespace ").expect("a namespace");
    let (space, _) = last.split_once(" {").expect("its name");
    let name = format!("{space}::{}", K::INFO.symbol);
    (text, name)
}
