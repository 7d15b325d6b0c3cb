// A routine does not take what to enqueue with.

use thalweg::kernel::DeviceSliceMut;
use thalweg::prelude::*;

fn invert(_: DeviceSliceMut<'_, f32>) -> thalweg::Result<()> {
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
