// Two stages have one name.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage copy { copy y -> dy; }
        stage copy { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
