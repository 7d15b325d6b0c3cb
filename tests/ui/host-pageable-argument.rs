// A host function is given an argument that is not `mapped`.

use thalweg::prelude::*;

fn negate(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = -*x);
}

stream_pipeline! {
    pipeline P {
        inout y: [f32; 2];
        stage negate { host negate(&mut y); }
        stage over { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
