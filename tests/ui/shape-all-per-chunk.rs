// Nothing says how many items there are: the only data are counted by chunk.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        output y: [f32] per chunk;
        device dy: [f32] per chunk;
        stage all { fill dy = 1.0; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
