// A source includes a file that is in no folder that is looked in.

use thalweg::prelude::*;

#[kernels("sources/line.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= y.len())]
    safe fn along(n: u32, line: [f32; 2], y: &mut [f32]);
}

fn main() {}
