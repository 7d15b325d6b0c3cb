// A launch names a function with `#[device]`.

use thalweg::prelude::*;

#[device]
fn doubled(x: f32) -> f32 {
    2.0 * x
}

stream_pipeline! {
    pipeline P {
        output y: [f32];
        device dy: [f32];
        stage all { doubled<<<1, 32>>>(out dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [0.0; 4])?;
    Ok(())
}
