// The data that a kernel in Rust only writes are passed to be changed.

use thalweg::prelude::*;

#[kernel]
fn filled(i: Index, a: f32, y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a;
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; filled<<<1, 32>>>(2.0, &mut dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
