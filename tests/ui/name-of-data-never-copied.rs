// A launch names the buffer of host data that no copy brings to the device.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        param a: f32;
        input samples: [f32];
        inout y: [f32];
        chunk c = auto;
        stage all { copy y -> d_y; saxpy<<<1, 256>>>(a, &d_samples, &mut d_y); copy d_y -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(3.0, &[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
