// An event is waited for in an `else`.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param keep: bool;
        inout y: [f32];
        sync = manual;
        stream up;
        stream down;
        stage load on up { wait stored @ reuse; copy y -> dy; record loaded; }
        stage store on down { if keep { } else { wait loaded; copy dy -> y; } record stored; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(true, &mut [2.0; 4])?;
    Ok(())
}
