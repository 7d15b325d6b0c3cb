// A routine that reads is given a buffer to write.

use thalweg::kernel::DeviceSlice;
use thalweg::prelude::*;
use thalweg::routine::Enqueue;

fn invert(_: &Enqueue<'_>, _: DeviceSlice<'_, f32>) -> thalweg::Result<()> {
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

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
