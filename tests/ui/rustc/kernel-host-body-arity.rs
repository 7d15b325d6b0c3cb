// The host body of a kernel lacks a parameter.

use thalweg::prelude::*;

#[kernels("../add.cu")]
unsafe extern "CUDA" {
    #[host(add_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    safe fn add(n: u32, x: &[f32], y: &mut [f32]);
}

fn add_on_host(thread: Thread, x: &[f32], y: &mut [f32]) {
    let i = thread.global_x();
    if i < y.len() {
        y[i] += x[i];
    }
}

fn main() {}
