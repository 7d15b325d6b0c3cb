// The host body of a kernel does not take the thread that it is called for.

use thalweg::prelude::*;

#[kernels("../add.cu")]
unsafe extern "CUDA" {
    #[host(add_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    safe fn add(n: u32, x: &[f32], y: &mut [f32]);
}

fn add_on_host(n: u32, x: &[f32], y: &mut [f32]) {
    for (y, x) in y.iter_mut().zip(x).take(n as usize) {
        *y += x;
    }
}

fn main() {}
