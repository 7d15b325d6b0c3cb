// The two sides of a copy differ in their halo.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32] halo 1 = clamp;
        output y: [f32];
        stage load { copy x -> dx; }
        stage store { copy dx -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
