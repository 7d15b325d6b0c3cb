// A copy names a buffer that does not exist in place of the `output`.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        stage load { copy x -> dx; }
        stage store { copy dx -> z; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
