use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32; 4];
        output z: [f32; 4 * world.size];
        device all: [f32; 4 * world.size];
        stage load { copy y -> dy; }
        stage share { all_gather dy -> all; }
        stage store { copy dy -> y; copy all -> z; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
