// A collective reads and writes one buffer.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> dy; }
        stage share { pass dy -> dy to (rank + 1) % world.size; }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4])?;
    Ok(())
}
