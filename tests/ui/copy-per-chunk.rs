// One side of a copy is counted by chunk, the other by item.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output sums: [f32] per chunk;
        stage load { copy x -> dx; }
        stage store { copy dx -> sums; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
