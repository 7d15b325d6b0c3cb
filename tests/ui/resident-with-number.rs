// Resident data with a number of elements.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        resident w: [f32; 16];
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 16], &mut [2.0; 4])?;
    Ok(())
}
