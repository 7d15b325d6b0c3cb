//! A session: frames come from a channel one after the other; each is pushed, and another thread prints its
//! result.
//!
//! ```text
//! cargo run --release --example session
//! ```
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.

use std::sync::mpsc;
use std::thread;

// ANCHOR: program
use thalweg::prelude::*;
use thalweg::session::Session;
use thalweg_kernels::saxpy;

stream_pipeline! {
    /// `scaled <- volume * samples`.
    pipeline Scale {
        param volume: f32;
        input samples: [f32];
        output scaled: [f32];
        device d_scaled: [f32];

        chunk c = 4096;

        stage load { copy samples -> d_samples; }
        stage scale {
            fill d_scaled = 0.0;
            saxpy<<<blocks(c.len, 256), 256>>>(volume, &d_samples, &mut d_scaled);
        }
        stage store { copy d_scaled -> scaled; }
    }
}

/// Scales frames as they come, until the sender is gone. `told` is called with each result.
fn scale(
    devices: &[Device],
    frames: mpsc::Receiver<Vec<f32>>,
    told: impl Fn(&[f32]) + Send,
) -> thalweg::Result<Report> {
    let mut pipeline = Scale::new(devices)?;
    let session = Session::start(move |samples, scaled| pipeline.run(0.5, samples, scaled))?;
    let (mut pusher, mut puller, run) = session.split();
    thread::scope(|scope| -> thalweg::Result<()> {
        let prints = scope.spawn(move || -> thalweg::Result<()> {
            let mut frame = [0.0; 1000];
            while puller.pull(&mut frame)? == frame.len() {
                told(&frame);
            }
            Ok(())
        });
        for frame in frames {
            pusher.push(&frame)?;
            // The frame is less than a chunk, and does not wait for the rest of one.
            pusher.flush()?;
        }
        pusher.end();
        prints.join().expect("no panic")
    })?;
    run.wait()
}
// ANCHOR_END: program

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let devices = thalweg_examples::devices()?;
    let (sender, receiver) = mpsc::channel();
    let camera = thread::spawn(move || {
        // A receiver that does not want any more hangs up.
        (1..=8).map(|number| vec![number as f32; 1000]).all(|frame| sender.send(frame).is_ok())
    });
    let report = scale(&devices, receiver, |frame| {
        let sum: f32 = frame.iter().sum();
        println!("a frame of {} samples, {} each, {sum} together", frame.len(), frame[0]);
    })?;
    println!("{} samples in {} chunks", report.items, report.chunks);
    assert!(camera.join().is_ok());
    Ok(())
}
