// A routine is named, but not called.

use thalweg::prelude::*;
use thalweg::Enqueue;

fn invert(_: &Enqueue<'_>) -> Result<()> {
    Ok(())
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> dy; }
        stage call { call invert; }
        stage store { copy dy -> y; }
    }
}

fn main() -> Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
