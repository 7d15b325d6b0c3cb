// A kernel's blocks are declared with more threads than a block can have.

use thalweg::prelude::*;

#[kernel(threads = 2048)]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 2.0 * x[i];
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
