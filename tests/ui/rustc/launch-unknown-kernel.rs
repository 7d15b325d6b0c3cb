// A kernel does not exist.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { thalweg_kernels::saxpi<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(3.0, &[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
