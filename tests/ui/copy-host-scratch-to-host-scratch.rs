// A copy goes from host scratch to host scratch.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        host h: [f32];
        host r: [f32];
        stage load { copy y -> dy; copy dy -> h; copy h -> r; }
        stage store { copy r -> dr; copy dr -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
