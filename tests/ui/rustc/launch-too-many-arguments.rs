// A launch has an argument too many.

use thalweg::prelude::*;
use thalweg_tests::by_hand::saxpy;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: [f32];
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<1, 32>>>(4, 2.0, &dx, &mut dy, 1.0); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
