// A launch reads a buffer above the operation of its stage that writes it.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        device t: [f32];
        stage all { copy y -> d_y; saxpy<<<1, 256>>>(a, &t, &mut d_y); copy x -> t; copy d_y -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(3.0, &[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
