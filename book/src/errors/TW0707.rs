use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [u8];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

pub fn main() -> Result<()> {
    P::new(&Device::open()?)?.run(&mut [1; 4])?;
    Ok(())
}
