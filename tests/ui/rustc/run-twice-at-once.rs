// One pipeline runs twice at the same time.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let (mut pipeline, mut y, mut z) = (P::new(&Device::open()?)?, vec![2.0; 4], vec![2.0; 4]);
    std::thread::scope(|scope| {
        scope.spawn(|| pipeline.run(&mut y));
        scope.spawn(|| pipeline.run(&mut z));
    });
    Ok(())
}
