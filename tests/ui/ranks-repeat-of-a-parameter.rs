// A `barrier` stands in a `repeat` that each rank counts for itself.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param times: usize;
        inout y: [f32];
        stage load { copy y -> dy; }
        stage share { repeat times { barrier; } }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(2, &mut [1.0; 4])?;
    Ok(())
}
