// A collective names host data.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> dy; }
        stage share { all_reduce sum y; }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4])?;
    Ok(())
}
