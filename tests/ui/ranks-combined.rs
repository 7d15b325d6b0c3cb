// A collective names what is combined at the end of a run.

use thalweg::prelude::*;

fn plus(one: f32, other: f32) -> f32 {
    one + other
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        carry sum: [f32; 4] = 0.0 combine plus;
        stage load { copy y -> dy; }
        stage share { all_reduce sum sum; }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
