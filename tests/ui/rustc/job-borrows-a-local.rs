// A job of `spawn` moves a slice of what its caller has.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let (mut p, mut y) = (P::new(&Device::open()?)?, vec![2.0; 4]);
    let part = &mut y[..2];
    thalweg::job::spawn(move || p.run(part))?.wait()?;
    Ok(())
}
