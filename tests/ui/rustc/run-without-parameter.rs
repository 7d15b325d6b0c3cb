// `run` lacks the pipeline's parameter, which is its first argument.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<1, 256>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let (x, mut y) = (vec![1.0; 4], vec![2.0; 4]);
    P::new(&Device::open()?)?.run(&x, &mut y)?;
    Ok(())
}
