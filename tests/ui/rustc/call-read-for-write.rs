// A routine that reads is given a buffer to write.

use thalweg::prelude::*;
use thalweg::{DeviceSlice, Enqueue};

fn invert(_: &Enqueue<'_>, _: DeviceSlice<'_, f32>) -> Result<()> {
    Ok(())
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> dy; }
        stage call { call invert(&mut dy); }
        stage store { copy dy -> y; }
    }
}

fn main() -> Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
