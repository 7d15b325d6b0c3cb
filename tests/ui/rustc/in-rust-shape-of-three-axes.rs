// A launch of a kernel in two dimensions has a shape of three axes.

use thalweg::prelude::*;

#[kernel]
fn filled(at: Index<2>, a: f32, y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(at) else { return };
    *y = a;
}

stream_pipeline! {
    pipeline P {
        output y: [f32];
        device dy: [f32];
        stage all { filled<<<1, (2, 2)>>>(2.0, out dy as [1, 2, 2]); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [0.0; 4])?;
    Ok(())
}
