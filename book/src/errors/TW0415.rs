use thalweg::prelude::*;

#[kernels("../../../tests/ui/sources/blur.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= x.len() && n as usize <= y.len())]
    safe fn blur(n: u32, x: &[f32], y: Out<[f32]>, #[symbol] weights: &[f32]);
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        resident w: [f32];
        device dy: [f32];
        stage all { copy x -> dx; blur<<<1, 256>>>(4, &dx, out dy, &w); copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4], &[0.5, 0.25, 0.25])?;
    Ok(())
}
