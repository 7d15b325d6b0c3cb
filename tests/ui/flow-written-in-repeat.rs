// A buffer is written in a `repeat` only, and read after it.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param times: u32;
        inout y: [f32];
        stage load { copy y -> dy; }
        stage keep { repeat times { copy dy -> t; } }
        stage store { copy t -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(3, &mut [2.0; 4])?;
    Ok(())
}
