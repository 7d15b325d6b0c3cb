// A buffer is used above the copy in its stage that declares it.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stage all { copy y -> d_y; saxpy<<<1, 256>>>(a, &d_x, &mut d_y); copy d_y -> y; copy x -> d_x; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(3.0, &[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
