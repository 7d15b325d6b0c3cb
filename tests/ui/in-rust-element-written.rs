// A thread writes an element that is not its own.

use thalweg::prelude::*;

#[kernel]
fn reversed(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    y[x.len() - 1 - i.get()] = x[i];
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        stage all { copy x -> dx; reversed<<<1, 32>>>(&dx, out dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
