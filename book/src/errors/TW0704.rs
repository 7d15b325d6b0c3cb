use thalweg::prelude::*;

#[kernels("../../../tests/ui/fill.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= y.len())]
    safe fn fill(n: u32, y: Out<[f32]>);
}

stream_pipeline! {
    pipeline P {
        output z: [f32];
        device t: [f32];
        stage all { fill<<<1, 256>>>(4, out t); copy t -> z; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [0.0; 4])?;
    Ok(())
}
