// Two inputs with different halos are copied to one buffer.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: [f32] halo 1 = clamp;
        input z: [f32] halo 2 = clamp;
        inout y: [f32];
        stage load { copy x -> t; copy y -> dy; saxpy<<<1, 32>>>(2.0, &t, &mut dy); copy z -> t; }
        stage axpy { saxpy<<<1, 32>>>(2.0, &t, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
