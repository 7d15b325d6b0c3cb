// `sendrecv` is not an operation.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> dy; }
        stage share { sendrecv dy -> next; }
        stage store { copy next -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4])?;
    Ok(())
}
