// No stage reads an `inout`, only writes it.

#![deny(deprecated)] // a warning of a pipeline is the use of a deprecated constant

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: [f32];
        stage all { copy x -> dx; copy dx -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
