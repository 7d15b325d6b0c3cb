// A host function is given a `Vec`.

use thalweg::prelude::*;

fn look_up(table: Vec<f32>, x: &mut [f32]) {
    x.fill(table[0]);
}

stream_pipeline! {
    pipeline P {
        param table: Vec<f32>;
        inout y: [f32];
        host h: [f32];
        stage load { copy y -> dy; copy dy -> h; }
        stage cpu { host look_up(table, &mut h); }
        stage store { copy h -> dz; copy dz -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(vec![1.0], &mut [2.0; 4])?;
    Ok(())
}
