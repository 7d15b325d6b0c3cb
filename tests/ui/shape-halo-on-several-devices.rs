// A pipeline with an error is used on several devices.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: device [f32] halo 2 = wrap;
        inout y: [f32];
        stage load { copy y -> dy; }
        stage axpy { saxpy<<<1, 32>>>(2.0, &x, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let devices = Device::all()?;
    let x = thalweg::Sharded::from_slice(&devices, &[1.0; 4])?;
    P::new(&devices)?.run(&x, &mut [2.0; 4])?;
    P::options(&devices[..1]).depth(2).build()?;
    Ok(())
}
