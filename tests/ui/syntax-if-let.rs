// A condition is a pattern.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param most: Option<u32>;
        inout y: [f32];
        stage load { copy y -> dy; }
        stage store { if let Some(1) = most { copy dy -> y; } }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(None, &mut [2.0; 4])?;
    Ok(())
}
