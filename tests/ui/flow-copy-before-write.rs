// A copy reads a device buffer before the stage that writes it.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        device t: [f32];
        input x: [f32];
        output z: [f32];
        stage store { copy t -> z; }
        stage load { copy x -> t; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
