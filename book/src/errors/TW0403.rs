use thalweg::prelude::*;

#[kernels("../../../tests/ui/scale.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= y.len())]
    safe fn scale(n: u32, a: f32, y: &mut [f32]);
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; scale<<<1, 256>>>(4, 2.0, &mut dy); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
