// The host body of a kernel takes the elements of another type.

use thalweg::prelude::*;

#[kernels("../add.cu")]
unsafe extern "CUDA" {
    #[host(add_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    safe fn add(n: u32, x: &[f32], y: &mut [f32]);
}

fn add_on_host(thread: Thread, n: u32, x: &[f32], y: &mut [f64]) {
    let i = thread.global_x();
    if i < n as usize {
        y[i] += f64::from(x[i]);
    }
}

fn main() {}
