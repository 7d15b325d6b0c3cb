// `#[reads]` promises of a pointer what `const` says already.

use thalweg::prelude::*;

#[kernels("add.cu")]
unsafe extern "CUDA" {
    safe fn add(n: u32, #[reads] x: &[f32], y: &mut [f32]);
}

fn main() {}
