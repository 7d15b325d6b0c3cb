// A buffer is written in an `if` only, and read after it.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param load: bool;
        input x: [f32];
        output y: [f32];
        stage load { if load { copy x -> dx; } }
        stage store { copy dx -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(true, &[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
