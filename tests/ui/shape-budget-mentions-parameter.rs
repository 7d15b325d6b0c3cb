// A budget that depends on a parameter.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param n: usize;
        inout y: [f32];
        budget = n * MIB;
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(4, &mut [2.0; 4])?;
    Ok(())
}
