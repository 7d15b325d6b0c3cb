// A copy goes from host scratch to an argument.

use thalweg::prelude::*;

fn negate(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = -*x);
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        host h: [f32];
        stage load { copy y -> dy; copy dy -> h; }
        stage negate { host negate(&mut h); }
        stage store { copy h -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
