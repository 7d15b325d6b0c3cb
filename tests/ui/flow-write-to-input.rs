// A copy writes an `input`.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        stage load { copy x -> dx; }
        stage store { copy dx -> x; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4])?;
    Ok(())
}
