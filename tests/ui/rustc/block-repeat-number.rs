// A `repeat` is to repeat one and a half times.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> dy; copy dy -> t; }
        stage twice { repeat 1.5 { copy dy -> t; } }
        stage store { copy t -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
