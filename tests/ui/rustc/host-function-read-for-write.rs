// A host function that writes is given a buffer to read.

use thalweg::prelude::*;

fn negate(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = -*x);
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        host h: [f32];
        stage load { copy y -> dy; copy dy -> h; }
        stage cpu { host negate(&h); }
        stage store { copy h -> dz; copy dz -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
