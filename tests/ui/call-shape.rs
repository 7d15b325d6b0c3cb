// A routine is given a shape.

use thalweg::kernel::DeviceSliceMut;
use thalweg::prelude::*;
use thalweg::routine::Enqueue;

fn doubled(_: &Enqueue<'_>, _: DeviceSliceMut<'_, f32>) -> thalweg::Result<()> {
    Ok(())
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> dy; }
        stage call { call doubled(&mut dy as [2, 2]); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
