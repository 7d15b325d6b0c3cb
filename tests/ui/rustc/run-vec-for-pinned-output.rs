// A `Vec` where the pipeline writes page-locked memory.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32]; output z: pinned [f32];
        stage all { copy x -> dx; copy dx -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    let mut z = vec![1.0; 4];
    P::new(&Device::open()?)?.run(&[2.0; 4], &mut z)?;
    Ok(())
}
