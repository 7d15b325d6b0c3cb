// A fill reads an element of a `resident`.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        resident w: [f32];
        output y: [f32];
        device dy: [f32];
        stage all { fill dy = w[0]; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
