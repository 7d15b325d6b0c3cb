// Two streams have one name.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stream copy;
        stream math;
        stream copy;
        stage load on copy { copy y -> dy; }
        stage store on math { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
