// The two sides of a copy hold different elements, of which one is no primitive type.

use thalweg::prelude::*;
use std::num::Wrapping;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output z: [Wrapping<u8>];
        stage all { copy x -> dx; copy dx -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [Wrapping(0); 4])?;
    Ok(())
}
