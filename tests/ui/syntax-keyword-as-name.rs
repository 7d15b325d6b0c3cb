// A keyword of Rust is used as a name.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input type: [f32];
        output z: [f32];
        stage all { copy r#type -> t; copy t -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
