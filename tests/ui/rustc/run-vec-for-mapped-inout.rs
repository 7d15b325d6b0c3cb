// A `Vec` is given for a `mapped` `inout`.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: mapped [f32];
        stage load { copy x -> dx; }
        stage axpy { saxpy<<<1, 32>>>(2.0, &dx, &mut y); }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut vec![2.0_f32; 4])?;
    Ok(())
}
