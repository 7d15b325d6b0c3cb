// A stream for each slot does not order what is carried from chunk to chunk.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        carry sum: [f32; 4] = 0.0;
        sync = manual;
        stream s per slot;
        stage all on s { copy x -> dx; saxpy<<<1, 4>>>(1.0, &dx, &mut sum); }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
