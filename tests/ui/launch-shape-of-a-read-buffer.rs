// A buffer that a kernel reads is given a shape.

use thalweg::prelude::*;

#[kernel]
fn copied(at: Index<2>, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(at) else { return };
    *y = x[0];
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        stage all { copy x -> dx; copied<<<1, (2, 2)>>>(&dx as [2, 2], out dy as [2, 2]); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
