//! A program on tokio that goes on with its own work while a run is under way, and feeds that run.
//!
//! ```text
//! cargo run --release --example tokio_job
//! ```

use std::sync::mpsc;
use std::time::Duration;

use thalweg::prelude::*;
use thalweg_kernels::scale_f32;

// ANCHOR: program
stream_pipeline! {
    /// `fahrenheit <- 1.8 * celsius + 32`.
    pipeline Convert {
        input celsius: [f32];
        output fahrenheit: [f32];
        device y: [f32];
        chunk c = 256;
        stage load { copy celsius -> x; }
        stage convert { scale_f32<<<blocks(c.len, 256), 256>>>(1.8, 32.0, &x, out y); }
        stage store { copy y -> fahrenheit; }
    }
}

// The program uses one thread; the run has its own.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut convert = Convert::new(&Device::open()?)?;
    let (readings, received) = mpsc::channel::<Vec<f32>>();
    let job = thalweg::job::spawn(move || {
        let mut fahrenheit = Vec::new();
        let report = convert.run(source::channel(received), sink::extend(&mut fahrenheit))?;
        Ok((report.items, fahrenheit))
    })?;
    println!("the run waits for its data: {}", if job.is_done() { "no" } else { "yes" });

    // The run ends when the measuring does, so neither can wait for the other to end first.
    let (measured, converted) = tokio::join!(measure(readings), job);
    let (items, fahrenheit) = converted?;
    println!("{} readings sent, {items} converted", measured?);
    println!("{:.1} °F to {:.1} °F", fahrenheit[0], fahrenheit[fahrenheit.len() - 1]);
    Ok(())
}

/// Ten batches of readings, one a millisecond.
async fn measure(readings: mpsc::Sender<Vec<f32>>) -> Result<usize, mpsc::SendError<Vec<f32>>> {
    let mut sent = 0;
    for batch in 0..10_u16 {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let celsius: Vec<f32> = (0..100).map(|i| f32::from(100 * batch + i) / 10.0).collect();
        sent += celsius.len();
        readings.send(celsius)?;
    }
    Ok(sent)
}
// ANCHOR_END: program
