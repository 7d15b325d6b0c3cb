// A condition in a `repeat` is a number.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        chunk c = 2;
        stage load { copy y -> dy; copy dy -> t; }
        stage twice { repeat 2 { if c.index { copy dy -> t; } } }
        stage store { copy t -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
