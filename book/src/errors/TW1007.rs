use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        uniform param root: usize;
        inout y: [f32];
        stage load { copy y -> dy; }
        stage share { broadcast dy from root; }
        stage store { copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(0, &mut [1.0; 4])?;
    Ok(())
}
