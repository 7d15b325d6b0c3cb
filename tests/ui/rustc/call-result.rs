// A routine returns nothing, so that it could not fail.

use thalweg::kernel::DeviceSliceMut;
use thalweg::prelude::*;
use thalweg::routine::Enqueue;

fn invert(_: &Enqueue<'_>, _: DeviceSliceMut<'_, f32>) {}

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
