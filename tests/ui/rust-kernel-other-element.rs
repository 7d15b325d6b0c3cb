// A kernel writes to an element that is not its thread's own.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, y: &mut Own<[f32]>) {
    let j = i.get();
    y[j] += 1.0;
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
