// A host function is given a buffer that does not exist.

use thalweg::prelude::*;

fn one(y: &mut [f32]) {
    y.fill(1.0);
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> dy; }
        stage one { host one(out scratch); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
