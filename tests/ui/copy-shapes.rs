// The two sides of a copy have different numbers of elements an item.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32; 3];
        output z: [f32];
        stage all { copy x -> dx; copy dx -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 12], &mut [0.0; 4])?;
    Ok(())
}
