// A copy reads an `output`.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        output z: [f32];
        stage load { copy z -> t; }
        stage store { copy t -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [0.0; 4])?;
    Ok(())
}
