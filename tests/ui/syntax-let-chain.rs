// A condition holds a pattern.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param most: Option<u32>;
        inout y: [f32];
        chunk c = 2;
        stage load { copy y -> dy; }
        stage store { if c.index > 0 && let Some(1) = most { copy dy -> y; } }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(None, &mut [2.0; 4])?;
    Ok(())
}
