// A halo has an edge that there is not.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32] halo 2 = mirror;
        inout y: [f32];
        stage all { copy x -> _dx; copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
