// A stage is put on a stream that does not exist; one with a similar name does.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stream copies;
        stage load on copies { copy y -> dy; }
        stage store on copis { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
