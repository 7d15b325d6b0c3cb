// The two sides of a copy hold different elements.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output z: [u32];
        stage all { copy x -> dx; copy dx -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0; 4])?;
    Ok(())
}
