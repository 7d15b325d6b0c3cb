// The launches of one `repeat` are on two streams.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: [f32];
        stream math;
        stream other;
        stage load on math { copy x -> dx; copy y -> dy; }
        stage axpy on math {
            repeat 3 { saxpy<<<1, 32>>>(2.0, &dx, &mut dy); saxpy<<<1, 32, 0, other>>>(2.0, &dx, &mut dy); }
        }
        stage store on math { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
