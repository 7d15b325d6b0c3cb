// A stream has no operations.

#![deny(deprecated)] // a warning of a pipeline is the use of a deprecated constant

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stream up;
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
