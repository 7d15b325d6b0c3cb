// A parameter and an input have one name.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param x: f32;
        input x: [f32];
        output z: [f32];
        stage all { copy x -> dx; copy dx -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(1.0, &[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
