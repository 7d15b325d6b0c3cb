// A fill does not declare its buffer.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        output z: [f32];
        stage all { fill zeros = 0.0; copy zeros -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
