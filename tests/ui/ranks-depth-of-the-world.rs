// The depth depends on the world.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        depth = world.size + 2;
        stage load { copy y -> dy; }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4])?;
    Ok(())
}
