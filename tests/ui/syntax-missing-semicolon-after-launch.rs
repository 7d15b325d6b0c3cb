// A launch lacks its `;`.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stage all { copy x -> dx; copy y -> dy; saxpy<<<1, 256>>>(a, &dx, &mut dy) copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(3.0, &[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
