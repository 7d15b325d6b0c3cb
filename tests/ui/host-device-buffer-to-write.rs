// A host function is to write a device buffer.

use thalweg::prelude::*;

fn one(y: &mut [f32]) {
    y.fill(1.0);
}

stream_pipeline! {
    pipeline P {
        output y: [f32];
        device dy: [f32];
        stage one { host one(out dy); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
