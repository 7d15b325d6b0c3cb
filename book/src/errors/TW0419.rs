use thalweg::prelude::*;

#[kernels("../../../tests/ui/sources/tile_dynamic.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= y.len())]
    safe fn turn(n: u32, y: &mut [f32]);
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; turn<<<1, 4, 65536>>>(4, &mut dy); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
