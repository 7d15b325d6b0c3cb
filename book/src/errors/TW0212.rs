use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stream up;
        stage over on up { copy y -> dy; copy dy -> y; then |c| println!("{}", c.index); }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
