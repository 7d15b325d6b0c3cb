// Host data are changed while a run copies them.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        input x: [f32];
        output y: [f32];
        stage all { copy x -> dx; copy dx -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let (mut pipeline, mut x) = (P::new(&Device::open()?)?, vec![2.0; 4]);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| pipeline.run(&x, &mut [0.0; 4]));
        x[0] = 1.0;
        run.join()
    }).expect("no panic")?;
    Ok(())
}
