// A copy names a buffer that does not exist; one with a similar name does.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output z: [f32];
        stage load { copy x -> d_input; }
        stage store { copy d_imput -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
