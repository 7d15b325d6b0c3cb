use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output z: [f32];
        stage all { copy x -> d_x; copy d_x -> z; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
