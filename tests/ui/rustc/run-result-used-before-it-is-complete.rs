// A result is read while the run that writes it goes on in another thread.

use thalweg::prelude::*;

stream_pipeline! {
    pipeline P {
        inout y: [f32];
        stage all { copy y -> dy; copy dy -> y; }
    }
}

fn main() -> thalweg::Result<()> {
    let (mut pipeline, mut y) = (P::new(&Device::open()?)?, vec![2.0; 4]);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| pipeline.run(&mut y));
        println!("{}", y[0]);
        run.join()
    }).expect("no panic")?;
    Ok(())
}
