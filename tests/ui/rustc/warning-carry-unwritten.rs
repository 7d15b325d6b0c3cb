// A `carry` that no stage writes.

#![deny(deprecated)] // a warning of a pipeline is the use of a deprecated constant

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        carry w: [f32; 4];
        inout y: [f32];
        stage all { copy y -> dy; saxpy<<<1, 4>>>(2.0, &w, &mut dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
