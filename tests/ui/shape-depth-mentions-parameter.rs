// The depth depends on a parameter, but the ring is built before there is one.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param n: usize;
        inout y: [f32];
        depth = n;
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(3, &mut [2.0; 4])?;
    Ok(())
}
