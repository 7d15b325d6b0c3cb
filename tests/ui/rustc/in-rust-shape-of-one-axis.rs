// A launch of a kernel in one dimension has a shape.

use thalweg::prelude::*;

#[kernel]
fn filled(i: Index, a: f32, y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a;
}

stream_pipeline! {
    pipeline P {
        output y: [f32];
        device dy: [f32];
        stage all { filled<<<1, 32>>>(2.0, out dy as [4]); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [0.0; 4])?;
    Ok(())
}
