// A host function is given a parameter with `&`.

use thalweg::prelude::*;

fn scale(factor: f32, x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x *= factor);
}

stream_pipeline! {
    pipeline P {
        param factor: f32;
        inout y: [f32];
        host h: [f32];
        stage load { copy y -> dy; copy dy -> h; }
        stage scale { host scale(&factor, &mut h); }
        stage store { copy h -> dz; copy dz -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(3.0, &mut [2.0; 4])?;
    Ok(())
}
