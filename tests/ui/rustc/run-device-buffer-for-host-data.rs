// A device buffer is given for an `input` that is copied from the host.

use thalweg::prelude::*;
use thalweg::DeviceBuf;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        stage all { copy x -> dx; copy dx -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let x = DeviceBuf::<f32>::zeroed(&device, 4)?;
    P::new(&device)?.run(&x, &mut [2.0; 4])?;
    Ok(())
}
