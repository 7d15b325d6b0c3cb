// `run` lacks an argument.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: [f32];
        stage all { copy x -> dx; copy dx -> y; copy y -> _dy; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0_f32; 4])?;
    Ok(())
}
