use thalweg::prelude::*;

#[kernels("../../../tests/ui/sources/power.cu")]
unsafe extern "CUDA" {
    #[instantiate("math::power<float, 3>")]
    #[requires(n as usize <= y.len())]
    safe fn cube(n: u32, y: &mut [f32]);
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; cube<<<1, 256>>>(4, &mut dy); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
