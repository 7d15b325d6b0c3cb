// An element is a type parameter that need not be plain data.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P<T> {
        inout y: [T];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::<f32>::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
