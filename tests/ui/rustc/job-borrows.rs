// A job of `spawn` borrows what its caller has: a `scope` lets it.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let mut p = P::new(&Device::open()?)?;
    let y = vec![2.0; 4];
    thalweg::job::spawn(|| Ok(println!("{y:?}")))?.wait()?;
    p.run(&mut [2.0; 4])?;
    Ok(())
}
