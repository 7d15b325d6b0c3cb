// One buffer is passed as `&mut` twice.

use thalweg::prelude::*;

#[kernels("pair.cu")]
unsafe extern "CUDA" {
    safe fn swap(n: u32, a: &mut [f32], b: &mut [f32]);
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        chunk c = auto;
        stage all { copy y -> dy; swap<<<1, 256>>>(c.len as u32, &mut dy, &mut dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
