// A copy has host data on both sides.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output z: [f32];
        stage all { copy x -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
