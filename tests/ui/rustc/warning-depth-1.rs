// The ring has one slot.

#![deny(deprecated)]

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        depth = 1;
        stage load { copy y -> dy; }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
