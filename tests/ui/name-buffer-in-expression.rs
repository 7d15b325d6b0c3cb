// A launch asks a buffer for its length.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        resident w: [f32];
        inout y: [f32];
        stage all { copy y -> dy; saxpy<<<blocks(w.len(), 256), 256>>>(2.0, &w, &mut dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
