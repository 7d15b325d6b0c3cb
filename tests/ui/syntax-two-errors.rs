// A missing `;` and a misspelt keyword: both are reported.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32]
        output z: [f32];
        steam up;
        stage all { copy x -> dx; copy dx -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
