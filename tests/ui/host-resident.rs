// A host function is given what is resident on the device.

use thalweg::prelude::*;

fn look(_: &[f32]) {}

stream_pipeline! {
    pipeline P {
        resident w: [f32];
        inout y: [f32];
        stage look { host look(&w); }
        stage over { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
