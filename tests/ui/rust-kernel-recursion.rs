// A device function calls itself.

use thalweg::prelude::*;

#[device]
fn power(x: f32, n: u32) -> f32 {
    if n == 0 { 1.0 } else { x * power(x, n - 1) }
}

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = power(x[i], 3);
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
