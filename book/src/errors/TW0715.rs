use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        depth = 3;
        stage load { copy y -> dy; }
        stage store { copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
