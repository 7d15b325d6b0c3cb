// A shape depends on the chunk, but it must be the same for all chunks.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32; c.len];
        chunk c = auto;
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
