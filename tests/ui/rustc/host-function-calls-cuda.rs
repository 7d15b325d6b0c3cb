// A host function is given the device, to call CUDA with.

use thalweg::prelude::*;

fn more(device: Device, y: &mut [f32]) {
    y[0] = PinnedBuf::zeroed(&device, 1).map_or(0.0, |buffer| buffer[0]);
}

stream_pipeline! {
    pipeline P {
        param device: Device;
        inout y: [f32];
        host h: [f32];
        stage load { copy y -> dy; copy dy -> h; }
        stage cpu { host more(device, &mut h); }
        stage store { copy h -> dz; copy dz -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let device = Device::open()?;
    P::new(&device)?.run(device.clone(), &mut [2.0; 4])?;
    Ok(())
}
