// Host data are dropped while a run may still copy them.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        stage all { copy x -> dx; copy dx -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let mut pipeline = P::new(&Device::open()?)?;
    std::thread::scope(|scope| {
        let x = vec![2.0; 4];
        scope.spawn(|| pipeline.run(&x, &mut [0.0; 4]));
    });
    Ok(())
}
