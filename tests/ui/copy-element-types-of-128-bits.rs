// The two sides of a copy hold different elements, of 128 bits.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [u128];
        output z: [i128];
        stage all { copy x -> dx; copy dx -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1; 4], &mut [0; 4])?;
    Ok(())
}
