// A host function returns a number.

use thalweg::prelude::*;

fn sum(x: &[f32]) -> f32 {
    x.iter().sum()
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        host h: [f32];
        stage load { copy y -> dy; copy dy -> h; }
        stage cpu { host sum(&h); }
        stage store { copy h -> dz; copy dz -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
