// A parameter is `&`, but the source may write through it.

use thalweg::prelude::*;

#[kernels("add.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= x.len() && n as usize <= y.len())]
    safe fn add(n: u32, x: &[f32], y: &[f32]);
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; copy y -> dx; add<<<1, 256>>>(4, &dx, &dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
