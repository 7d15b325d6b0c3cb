// Two independent mistakes in one pipeline are reported together.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        output z: [f32];
        chunk c = 0;
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4], &mut [2.0; 4])?;
    Ok(())
}
