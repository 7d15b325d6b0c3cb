// A `broadcast` is written for one rank alone.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> dy; }
        stage share { if world.rank == 0 { broadcast dy from 0; } }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4])?;
    Ok(())
}
