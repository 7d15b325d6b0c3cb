// A kernel writes an `input` that is on the device.

use thalweg::prelude::*;
use thalweg::DeviceBuf;
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline P {
        input x: device [f32];
        inout y: [f32];
        stage load { copy y -> dy; }
        stage axpy { saxpy<<<1, 32>>>(2.0, &dy, &mut x); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let x = DeviceBuf::from_slice(&device, &[1.0; 4])?;
    P::new(&device)?.run(&x, &mut [2.0; 4])?;
    Ok(())
}
