// A launch is for a type that the kernel does not have.

use thalweg::prelude::*;

#[kernel(T in [f32, f64])]
fn scaled(i: Index, a: T, x: &[T], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a * x[i];
}

stream_pipeline! {
    pipeline P {
        input x: [u32];
        output y: [u32];
        device dy: [u32];
        stage all { copy x -> dx; scaled::<u32><<<1, 32>>>(2, &dx, out dy); copy dy -> y; }
    }
}

fn main() {}
