// The mean of integers is asked for.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [i32];
        stage load { copy y -> dy; }
        stage share { all_reduce mean dy; }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1; 4])?;
    Ok(())
}
