use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stream a;
        stream b;
        stage load on a { copy y -> dy; }
        stage store on b { copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
