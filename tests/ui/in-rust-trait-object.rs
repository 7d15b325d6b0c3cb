// A kernel in Rust has a trait object.

use thalweg::prelude::*;

#[kernel]
fn clamped(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let limit: &dyn Fn(f32) -> f32 = &|x| x.clamp(0.0, 1.0);
    *y = limit(x[i]);
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        stage all { copy x -> dx; clamped<<<1, 32>>>(&dx, out dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&[1.0; 4], &mut [0.0; 4])?;
    Ok(())
}
