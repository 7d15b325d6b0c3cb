// A routine is given host scratch.

use thalweg::kernel::DeviceSlice;
use thalweg::prelude::*;
use thalweg::routine::Enqueue;

fn invert(_: &Enqueue<'_>, _: DeviceSlice<'_, f32>) -> thalweg::Result<()> {
    Ok(())
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        host h: [f32];
        stage load { copy y -> dy; copy dy -> h; }
        stage call { call invert(&h); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
