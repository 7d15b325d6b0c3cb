//! A callback queues the next batch: when the device has read the last chunk of a batch, its callback submits
//! the next batch, while results are still being copied out.
//!
//! ```text
//! cargo run --release --example next_batch
//! ```

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use thalweg::job::Job;
use thalweg::prelude::*;
use thalweg_kernels::scale_f32;

const BATCHES: usize = 5;
const ITEMS: usize = 10_000;

// ANCHOR: program
stream_pipeline! {
    /// `y <- 2 * x + 1`. When the last chunk is on the device, the pipeline asks for the next batch.
    pipeline Batch {
        param queue: Arc<Queue>;
        param number: usize;
        input x: [f32];
        output y: [f32];
        device dy: [f32];

        chunk c = 1024;

        stage load { copy x -> dx; then |c| queue.loaded(number, c.start + c.len); }
        stage double { scale_f32<<<blocks(c.len, 256), 256>>>(2.0, 1.0, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}

/// A run that gives its batch's number and results.
type Submitted = Job<(usize, Vec<f32>)>;

/// The state that callbacks need to submit a batch.
struct Queue {
    /// Pipelines that are not running, kept from one batch to the next.
    idle: Mutex<Vec<Batch>>,
    device: Device,
    submitted: Mutex<Sender<Submitted>>,
}

impl Queue {
    /// A callback calls this, on a thread of the runtime. An error would be the error of its run.
    fn loaded(self: &Arc<Self>, number: usize, items: usize) -> thalweg::Result<()> {
        if items == ITEMS && number + 1 < BATCHES { self.submit(number + 1) } else { Ok(()) }
    }

    /// Runs a batch as a job of its own, so that the caller goes on.
    fn submit(self: &Arc<Self>, number: usize) -> thalweg::Result<()> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut pipeline = idle.map_or_else(|| Batch::new(&self.device), Ok)?;
        let queue = Arc::clone(self);
        let job = thalweg::job::spawn(move || {
            let (x, mut y) = (vec![number as f32; ITEMS], vec![0.0; ITEMS]);
            pipeline.run(Arc::clone(&queue), number, &x, &mut y)?;
            queue.idle.lock().unwrap_or_else(PoisonError::into_inner).push(pipeline);
            Ok((number, y))
        })?;
        // If nothing receives the job, nothing waits for it: the program is at its end.
        let _ = self.submitted.lock().unwrap_or_else(PoisonError::into_inner).send(job);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (submitted, jobs) = mpsc::channel();
    let (idle, device) = (Mutex::default(), Device::open()?);
    Arc::new(Queue { idle, device, submitted: Mutex::new(submitted) }).submit(0)?;
    // No batch follows the last one: the queue is dropped with it, and so is the channel.
    for job in jobs {
        let (number, y) = job.wait()?;
        let right = y.iter().all(|&y| y == 2.0 * number as f32 + 1.0);
        println!("batch {number}: {} items, {}", y.len(), if right { "all right" } else { "not right" });
    }
    Ok(())
}
// ANCHOR_END: program
