// Ranks would exchange parts of different lengths.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        chunk c = 4;
        stage load { copy y -> dy; }
        stage share { all_reduce sum dy[..c.len]; }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4])?;
    Ok(())
}
