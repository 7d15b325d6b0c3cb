// A kernel in Rust is passed elements of another type.

use thalweg::prelude::*;

#[kernel]
fn filled(i: Index, a: f32, y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a;
}

stream_pipeline! {
    pipeline P {
        output y: [f64];
        device dy: [f64];
        stage all { filled<<<1, 32>>>(2.0, out dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [0.0; 4])?;
    Ok(())
}
