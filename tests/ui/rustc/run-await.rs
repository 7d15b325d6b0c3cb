// `run` blocks; it is no future.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

async fn work(p: &mut P, y: &mut [f32]) -> thalweg::Result<()> {
    p.run(y).await?;
    Ok(())
}

fn main() -> thalweg::Result<()> {
    drop(work(&mut P::new(&Device::open()?)?, &mut [2.0; 4]));
    Ok(())
}
