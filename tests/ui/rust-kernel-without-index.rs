// A kernel does not begin with its index.

use thalweg::prelude::*;

#[kernel]
fn k(y: &mut Own<[f32]>) {
    let Some(own) = y.get_mut(0) else { return };
    *own += 1.0;
}

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        chunk c = auto;
        stage all { copy y -> dy; k<<<blocks(c.len, 256), 256>>>(&mut dy); copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [1.0; 4])?;
    Ok(())
}
