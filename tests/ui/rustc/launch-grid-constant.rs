// A constant has more blocks along y than a grid may have.

use thalweg::prelude::*;

#[kernel]
fn grown(at: Index<2>, y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(at) else { return };
    *y += 1.0;
}

const ROWS: usize = 70_000;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        chunk c = auto;
        stage load { copy y -> dy; }
        stage grow { grown<<<(4, ROWS), 256>>>(&mut dy as [c.len, 1]); }
        stage store { copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    P::new(&Device::open()?)?.run(&mut [2.0; 4])?;
    Ok(())
}
