// A struct has another size than in the source.

use thalweg::bytemuck::{NoUninit, Zeroable};
use thalweg::prelude::*;

#[derive(Clone, Copy, NoUninit, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
#[repr(C)]
struct Params {
    n: u32,
    a: f32,
}

#[kernels("../sources/scaled.cu")]
unsafe extern "CUDA" {
    #[requires(p.n as usize <= y.len())]
    safe fn scaled(p: Params, y: &mut [f32]);
}

fn main() {}
