// A fill of host data.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        output z: [f32];
        stage all { fill z = 0.0; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
