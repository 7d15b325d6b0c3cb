// A pipeline with a type parameter has a syntax error.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P<T: Pod, const K: usize> {
        inout y: [T; K];
        stage all { copy y => dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::<f32, 2>::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
