// A fill with a reference to its value.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param a: f32;
        output z: [f32];
        device t: [f32];
        stage all { fill t = &a; copy t -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(1.0, &mut [2.0; 4])?;
    Ok(())
}
