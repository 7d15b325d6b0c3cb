// An `else` has no block.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param keep: bool;
        inout y: [f32];
        stage load { copy y -> dy; }
        stage store { if keep { } else copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(true, &mut [2.0; 4])?;
    Ok(())
}
