// A routine is given a buffer that does not exist.

use thalweg::prelude::*;
use thalweg::{DeviceSlice, Enqueue};

fn invert(_: &Enqueue<'_>, _: DeviceSlice<'_, f32>) -> Result<()> {
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

fn main() -> Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
