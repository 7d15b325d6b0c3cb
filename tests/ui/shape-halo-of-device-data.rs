// Data that are on the device already have a halo.

use thalweg::prelude::*;
use thalweg::DeviceBuf;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: device [f32] halo 1 = clamp;
        inout y: [f32];
        stage load { copy y -> dy; }
        stage axpy { saxpy<<<1, 32>>>(2.0, &x, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let x = DeviceBuf::from_slice(&device, &[1.0; 4])?;
    P::new(&device)?.run(&x, &mut [2.0; 4])?;
    Ok(())
}
