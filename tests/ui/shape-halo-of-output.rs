// An `output` has a halo.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32] halo 2 = zero;
        stage all { copy x -> dx; copy dx -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
