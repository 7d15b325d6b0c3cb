use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stream up;
        stream down;
        stage load on up { copy y -> dy; }
        stage store on down { copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
