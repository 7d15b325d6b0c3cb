//! Kernels on both sides: on the simulated device, and as C++ on the host, which has to compute the same bits.

use thalweg::__private::{Kernel, KernelSource};
use thalweg::bytemuck;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_host::{Argument, Checks, OnHost, Program, Turns};

/// The kernel's whole program in C++.
pub fn cpp<K: Kernel>() -> String {
    let KernelSource::Rust(source) = K::INFO.module.source else { panic!("the kernel is in Rust") };
    source.joined()
}

/// A slice, as the pointer and the length that kernels in C++ take.
pub fn slice<T>(data: &mut [T]) -> [Argument; 2] {
    [Argument::pointer(data.as_mut_ptr()), Argument::value(&data.len())]
}

/// Runs the kernel on the host, in blocks of 32 threads that are at least as many. The arguments are those of
/// the kernel in C++.
pub fn run<K: Kernel>(threads: usize, arguments: &[Argument]) {
    let (text, symbol) = (cpp::<K>(), K::INFO.symbol);
    let at = text.find(&format!("void {symbol}(")).expect("the kernel");
    let (_, namespace) = text[..at].rsplit_once("namespace ").expect("its namespace");
    let name = format!("{}::{symbol}", namespace.split_whitespace().next().expect("a name"));
    let (folder, file) = (concat!(env!("CARGO_TARGET_TMPDIR"), "/rust-kernels"), format!("{symbol}.cu"));
    let (kernels, checks) = (&[name.as_str()], Checks::Strict);
    let program = Program { file: &file, text: &text, kernels, checks, flags: &["-Wno-unused"] };
    let program = OnHost::compile(folder, &program).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let turns = Turns::new((blocks(threads, 32), 1, 1), (32, 1, 1), 0);
    // SAFETY: the arguments are the kernel's parameters, and it stays within its slices.
    let outcome = unsafe { program.launch(&name, turns, arguments) }.expect("it runs");
    assert_eq!(outcome.faults, []);
}

pub fn simulated() -> (Device, Stream) {
    let device = Device::simulated(Simulation::default());
    let stream = Stream::new(&device).expect("a stream");
    (device, stream)
}

/// A GPU, and the simulated device that it is compared with.
pub fn gpu_and_simulated(simulation: Simulation) -> [Device; 2] {
    [Device::cuda(0).expect("a GPU"), Device::simulated(simulation)]
}

#[track_caller]
pub fn assert_same<T: Pod>(native: &[T], in_cpp: &[T]) {
    assert_eq!(bytemuck::cast_slice::<T, u8>(native), bytemuck::cast_slice::<T, u8>(in_cpp));
}
