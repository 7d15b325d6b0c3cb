// A host function has no name.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        host h: [f32];
        stage load { copy y -> dy; copy dy -> h; host (&h); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
