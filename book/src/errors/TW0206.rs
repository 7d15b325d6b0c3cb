use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout z: [f32];
        stage load { copy z -> t; }
        stage store { copy t -> z; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [0.0; 4])?;
    Ok(())
}
