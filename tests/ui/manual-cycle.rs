// Two stages wait for each other.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: [f32];
        sync = manual;
        stream up;
        stream math;
        stream down;
        stage load on up { wait axpy_done @ reuse; copy x -> dx; wait store_done @ reuse; copy y -> dy; record load_done; }
        stage axpy on math { wait store_done; wait load_done; saxpy<<<1, 256>>>(2.0, &dx, &mut dy); record axpy_done; }
        stage store on down { wait axpy_done; copy dy -> y; record store_done; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
