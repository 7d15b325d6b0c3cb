// A launch does not say for which type.

use thalweg::prelude::*;

#[kernel(T in [f32, f64])]
fn scaled(i: Index, a: T, x: &[T], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a * x[i];
}

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        stage all { copy x -> dx; scaled<<<1, 32>>>(2.0, &dx, out dy); copy dy -> y; }
    }
}

fn main() {}
