use thalweg::bytemuck::{Pod, Zeroable};
use thalweg::prelude::*;

#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
#[repr(C)]
struct Params {
    n: u32,
    unused: u32,
    a: f64,
}

#[kernels("../../../tests/ui/sources/scaled.cu")]
unsafe extern "CUDA" {
    #[requires(p.n as usize <= y.len())]
    safe fn scaled(p: Params, y: &mut [f32]);
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; scaled<<<1, 256>>>(Params { n: 4, unused: 0, a: 2.0 }, &mut dy); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
