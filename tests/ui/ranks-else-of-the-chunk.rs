// A `barrier` stands in an `else` that depends on the length of the chunk.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        chunk c = 4;
        stage load { copy y -> dy; }
        stage share { if c.len == 4 { fill dy = 1.0; } else { barrier; } }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4])?;
    Ok(())
}
