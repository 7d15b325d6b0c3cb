// A `Vec` where the pipeline wants page-locked memory.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: pinned [f32]; output z: [f32];
        stage all { copy x -> dx; copy dx -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    let x = vec![1.0; 4];
    P::new(&Device::open()?)?.run(&x, &mut [2.0; 4])?;
    Ok(())
}
