// A callback is called instead of written.

use thalweg::prelude::*;

fn notify() {}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; then notify(); }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
