// A `scatter` cannot declare its destination.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32; 8];
        output y: [f32; 4];
        stage load { copy x -> dx; }
        stage share { scatter dx -> dy from 0; }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 8], &mut [0.0; 4])?;
    Ok(())
}
