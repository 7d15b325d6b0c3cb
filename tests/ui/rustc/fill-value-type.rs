// A fill with a value of another type.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        output z: [f32];
        device t: [f32];
        stage all { fill t = 0_u8; copy t -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
