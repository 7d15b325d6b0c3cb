// A parameter is copied as if it were data.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param a: f32;
        inout y: [f32];
        stage all { copy y -> dy; copy a -> da; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(1.0, &mut [2.0; 4])?;
    Ok(())
}
