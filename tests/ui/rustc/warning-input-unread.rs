// No stage reads an `input`.

#![deny(deprecated)] // a warning of a pipeline is the use of a deprecated constant

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
