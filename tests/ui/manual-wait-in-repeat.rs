// An event is waited for in a `repeat`.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        resident one: [f32];
        sync = manual;
        stream up;
        stream math;
        stage load on up { wait stored @ reuse; copy y -> dy; record loaded; }
        stage scale on math { repeat 3 { wait loaded; saxpy<<<1, 32>>>(2.0, &one, &mut dy); } }
        stage store on math { copy dy -> y; record stored; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4], &[1.0; 4])?;
    Ok(())
}
