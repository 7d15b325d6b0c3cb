// The elements are `bool`s.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [bool];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [true; 4])?;
    Ok(())
}
