// A parameter is `&mut`, but the source has a pointer to `const`.

use thalweg::prelude::*;

#[kernels("add.cu")]
unsafe extern "CUDA" {
    safe fn add(n: u32, x: &mut [f32], y: &mut [f32]);
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; copy y -> dx; add<<<1, 256>>>(4, &mut dx, &mut dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
