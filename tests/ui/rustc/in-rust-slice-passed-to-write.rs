// The data that a kernel in Rust reads are passed to be written.

use thalweg::prelude::*;

#[kernel]
fn saxpy(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += a * x[i];
}

stream_pipeline! {
    pipeline P {
        inout x: [f32];
        inout y: [f32];
        stage all { copy x -> dx; copy y -> dy; saxpy<<<1, 32>>>(2.0, &mut dx, &mut dy); copy dx -> x; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
