// A condition is a number.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        chunk c = 2;
        stage load { copy y -> dy; }
        stage store { if c.index { copy dy -> y; } }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
