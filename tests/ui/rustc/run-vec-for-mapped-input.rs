// A `Vec` is given for a `mapped` `input`.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: mapped [f32];
        inout y: [f32];
        stage load { copy y -> dy; }
        stage axpy { saxpy<<<1, 32>>>(2.0, &x, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&vec![1.0_f32; 4], &mut [2.0; 4])?;
    Ok(())
}
