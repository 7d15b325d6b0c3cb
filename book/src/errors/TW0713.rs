use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        depth = 3;
        stream s per slot;
        stream down;
        stage load on s { copy y -> dy; }
        stage store on down { copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
