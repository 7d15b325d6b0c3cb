// A host function is given an argument that is on the device.

use thalweg::prelude::*;
use thalweg::DeviceBuf;

fn negate(x: &mut [f32]) {
    x.iter_mut().for_each(|x| *x = -*x);
}

stream_pipeline! {
    pipeline P {
        inout y: device [f32];
        stage negate { host negate(&mut y); }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    let mut y = DeviceBuf::zeroed(&device, 4)?;
    P::new(&device)?.run(&mut y)?;
    Ok(())
}
