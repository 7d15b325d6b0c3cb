// An `all_gather` whose destination has another number of elements than ranks can fill.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32; 4];
        output z: [f32; 6];
        device all: [f32; 6];
        stage load { copy y -> dy; }
        stage share { all_gather dy -> all; }
        stage store { copy dy -> y; copy all -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4], &mut [0.0; 6])?;
    Ok(())
}
