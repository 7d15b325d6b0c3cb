// What a copy writes is overwritten before anything reads it.

#![deny(deprecated)]

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        stage load { copy x -> dx; fill dx = 0.0; }
        stage store { copy dx -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
