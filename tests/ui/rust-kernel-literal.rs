// The type of a literal follows from a function's result.

use thalweg::prelude::*;

#[device]
fn squared(x: f32) -> f32 {
    x * x
}

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let is_large = squared(x[i]) > 2.0;
    *y = if is_large { 1.0 } else { 0.0 };
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = auto;
        stage all { copy x -> dx; k<<<blocks(c.len, 256), 256>>>(&dx, out dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
