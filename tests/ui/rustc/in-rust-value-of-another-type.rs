// A kernel in Rust is passed a value of another type.

use thalweg::prelude::*;

#[kernel]
fn filled(i: Index, a: f32, y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a;
}

stream_pipeline! {
    pipeline P {
        param a: u32;
        output y: [f32];
        device dy: [f32];
        stage all { filled<<<1, 32>>>(a, out dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(2, &mut [0.0; 4])?;
    Ok(())
}
