// The kernel reads a device buffer that nothing has written.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        param a: f32;
        device dx: [f32];
        inout y: [f32];
        chunk c = auto;
        stage load { copy y -> dy; }
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(3.0, &mut [2.0; 4])?;
    Ok(())
}
