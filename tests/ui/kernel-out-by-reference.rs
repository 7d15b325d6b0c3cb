// A parameter that a kernel only writes is declared as a reference to `Out`.

use thalweg::prelude::*;

#[kernels("fill.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= y.len())]
    safe fn fill(n: u32, value: f32, y: &mut Out<[f32]>);
}

fn main() {}
