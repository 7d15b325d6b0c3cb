// Two device buffers have one name.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        device t: [f32];
        device t: [f32; 2];
        stage all { copy y -> t; copy t -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
