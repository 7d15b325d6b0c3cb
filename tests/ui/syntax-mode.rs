// A mode that there is not.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        mode = graphs;
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
