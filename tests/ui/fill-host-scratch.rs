// Host scratch is filled.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        host h: [f32];
        stage load { fill h = 1.0; }
        stage over { copy h -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
