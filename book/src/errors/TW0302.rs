use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        device t: [f32];
        stage all { copy y -> t; copy t -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
