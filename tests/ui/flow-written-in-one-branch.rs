// A buffer is written in one branch, and read in the other.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        param load: bool;
        input x: [f32];
        inout y: [f32];
        stage load { copy y -> dy; if load { copy x -> dx; } else { saxpy<<<1, 32>>>(2.0, &dx, &mut dy); } }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(true, &[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
