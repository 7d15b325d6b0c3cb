use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: [f32];
        stage load { copy y -> dy; copy x -> dx; }
        stage axpy { repeat 3 { saxpy<<<1, 32>>>(2.0, &dx, &mut dy); } }
        stage store { copy dy -> y; }
    }
}

pub fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
