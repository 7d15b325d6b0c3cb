// A copy within the device goes from a buffer with a halo to one that is declared without.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: [f32] halo 1 = clamp;
        inout y: [f32];
        device t: [f32];
        stage load { copy x -> dx; copy y -> dy; copy dx -> t; }
        stage axpy { saxpy<<<1, 32>>>(2.0, &t, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
