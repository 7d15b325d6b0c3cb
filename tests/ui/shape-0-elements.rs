// An item of no elements.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32; 0];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 0])?;
    Ok(())
}
