// No stage copies anything to the output.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output z: [f32];
        stage load { copy x -> t; copy t -> u; copy u -> t; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
