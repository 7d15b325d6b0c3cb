// A `pass` names this rank where it asks for every rank.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> dy; }
        stage share { pass dy -> next to (world.rank + 1) % world.size; }
        stage store { copy next -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4])?;
    Ok(())
}
