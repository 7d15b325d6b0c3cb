// A pipeline for any plain data is to work on `String`s.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P<T: Pod> {
        inout y: [T];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::<String>::new(&Device::open()?)?;
    Ok(())
}
