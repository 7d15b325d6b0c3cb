// There are more streams than hardware queues.

#![deny(deprecated)]

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        depth = 8;
        stream s per slot;
        stream down;
        stage load on s { copy y -> dy; }
        stage store on down { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
