// Data are counted by something else than the chunk.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        output y: [f32] per item;
        input x: [f32];
        stage all { copy x -> dx; copy dx -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
