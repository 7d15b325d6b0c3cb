// A kernel makes a `Vec`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let powers = vec![x[i], x[i] * x[i]];
    *y = powers[0] + powers[1];
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
