use thalweg::prelude::*;

#[kernels("../../../tests/ui/add.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= x.len() && n as usize <= y.len())]
    safe fn add(n: u32, x: &[f32], y: &mut [f32]);
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: [f32];
        stage all { copy y -> dy; copy x -> dx; add<<<1, 256>>>(4, &dx, &mut dy); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
