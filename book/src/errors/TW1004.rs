use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: [f32];
        stage load { copy x -> dx; copy y -> dy; }
        stage share { all_reduce sum dx; }
        stage store { copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
