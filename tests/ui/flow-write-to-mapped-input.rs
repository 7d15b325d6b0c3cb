// A kernel writes a `mapped` `input`.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: mapped [f32];
        inout y: [f32];
        stage load { copy y -> dy; }
        stage axpy { saxpy<<<1, 32>>>(2.0, &dy, &mut x); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let x = PinnedBuf::from_slice(&device, &[1.0; 4])?;
    P::new(&device)?.run(&x, &mut [2.0; 4])?;
    Ok(())
}
