// A function of the host is given a shape.

use thalweg::prelude::*;

fn doubled(_: &mut [f32]) {}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        host h: [f32];
        stage load { copy y -> dy; copy dy -> h; }
        stage work { host doubled(&mut h as [2, 2]); }
        stage store { copy h -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
