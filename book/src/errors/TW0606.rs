use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        output z: [f32];
        device d_z: [f32];
        stage all { fill d_z = 0.0; copy d_z -> z; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
