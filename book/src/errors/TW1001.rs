use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        uniform param share: bool;
        inout y: [f32];
        stage load { copy y -> dy; }
        stage share { if share { all_reduce sum dy; } }
        stage store { copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(true, &mut [1.0; 4])?;
    Ok(())
}
