// The chunk is declared twice.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        chunk c = auto;
        chunk d = 1024;
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
