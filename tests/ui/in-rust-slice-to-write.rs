// A kernel in Rust takes a `&mut [T]`.

use thalweg::prelude::*;

#[kernel]
fn halved(i: Index, x: &[f32], y: &mut [f32]) {
    y[i.get()] = 0.5 * x[i];
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        stage all { copy x -> dx; halved<<<1, 32>>>(&dx, out dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
