// A routine is given a buffer that does not exist.

use thalweg::kernel::DeviceSlice;
use thalweg::prelude::*;
use thalweg::routine::Enqueue;

fn invert(_: &Enqueue<'_>, _: DeviceSlice<'_, f32>) -> thalweg::Result<()> {
    Ok(())
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage load { copy y -> d_y; }
        stage call { call invert(&d_z); }
        stage store { copy d_y -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
