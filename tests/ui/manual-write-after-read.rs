// A buffer is overwritten on another stream, which does not wait for its reader.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: [f32];
        sync = manual;
        stream up;
        stream down;
        stage load on up { wait stored @ reuse; copy y -> d; record loaded; }
        stage store on down { wait loaded; copy d -> y; record stored; }
        stage next on up { copy x -> d; saxpy<<<1, 32>>>(2.0, &one, &mut d); }
        resident one: [f32];
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4], &[1.0; 4])?;
    Ok(())
}
