use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    let n = 4;
    P::options(&Device::open()?).depth(n).build()?.run(&mut [2.0; 4])?;
    Ok(())
}
