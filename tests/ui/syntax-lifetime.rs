// A pipeline has a lifetime parameter.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P<'a> {
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
