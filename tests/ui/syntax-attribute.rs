// An attribute with `!` is not `crate`.

use thalweg::prelude::*;

stream_pipeline! {
    #![krate = ::thalweg]
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
