// A launch passes a buffer that is written as `&out`.

use thalweg::prelude::*;

#[kernel]
fn copied(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        chunk c = auto;
        stage all { copy x -> dx; copied<<<blocks(c.len, 256), 256>>>(&dx, &out dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [2.0; 4])?;
    Ok(())
}
