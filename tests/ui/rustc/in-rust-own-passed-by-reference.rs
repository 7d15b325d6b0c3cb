// The data that a kernel in Rust changes are passed to be read.

use thalweg::prelude::*;

#[kernel]
fn saxpy(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += a * x[i];
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        inout y: [f32];
        stage all { copy x -> dx; copy y -> dy; saxpy<<<1, 32>>>(2.0, &dx, &dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
