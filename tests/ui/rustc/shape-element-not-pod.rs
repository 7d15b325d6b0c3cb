// The elements own memory.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [String];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> Result<()> {
    P::new(&Device::open()?)?.run(&mut Vec::<String>::new())?;
    Ok(())
}
