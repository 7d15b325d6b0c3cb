// An ordinary function of slices is called as a routine.

use thalweg::prelude::*;

fn negate(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = -*x);
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> dy; }
        stage cpu { call negate(&mut dy); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
