use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [i32];
        stage load { copy y -> dy; }
        stage share { all_reduce sum dy; }
        stage store { copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1; 4])?;
    Ok(())
}
