// Each rank names a root of its own.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param root: usize;
        inout y: [f32];
        stage load { copy y -> dy; }
        stage share { broadcast dy from root; }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(0, &mut [1.0; 4])?;
    Ok(())
}
