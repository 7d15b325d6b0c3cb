// All streams have the same priority.

#![deny(deprecated)]

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stream up: high;
        stream down: high;
        stage load on up { copy y -> dy; }
        stage store on down { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
