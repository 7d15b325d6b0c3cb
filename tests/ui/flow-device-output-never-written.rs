// Nothing writes an `output` that is on the device.

use thalweg::prelude::*;
use thalweg::DeviceBuf;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: device [f32];
        stage load { copy x -> _dx; }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let mut y = DeviceBuf::zeroed(&device, 4)?;
    P::new(&device)?.run(&[1.0; 4], &mut y)?;
    Ok(())
}
