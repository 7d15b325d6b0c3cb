use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: [f32];
        sync = auto;
        stream up;
        stream math;
        stream down;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<1, 256>>>(2.0, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
