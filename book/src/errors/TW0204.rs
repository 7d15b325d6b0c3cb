use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout x: [f32];
        stage load { copy x -> dx; }
        stage store { copy dx -> x; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4])?;
    Ok(())
}
