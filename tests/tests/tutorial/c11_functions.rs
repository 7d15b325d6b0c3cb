//! Callbacks, and functions on the way.

use std::fmt::Write as _;
// ANCHOR: uses
use std::sync::mpsc;

use thalweg::kernel::blocks;
use thalweg::prelude::*;
use thalweg::streams::Stream;
// ANCHOR_END: uses
use thalweg_tests::book::in_listing;

use super::kernel::{GAIN, OFFSET, adjust};
use super::{LEN, assert_adjusted, check, folded, pinned_samples, simulated};

// ANCHOR: then
/// Adjusts an array, and adjusts it again when that is done, this many times.
struct Again {
    stream: Stream,
    adjust: adjust,
    v: DeviceBuf<f32>,
    done: mpsc::Sender<Vec<f32>>,
}

impl Again {
    fn launch(mut self, left: u32) -> thalweg::Result<()> {
        let n = self.v.len();
        let config = self.stream.config(blocks(n, 256), 256, 0);
        self.adjust.launch(config, GAIN, OFFSET, &mut self.v)?;
        let stream = self.stream.clone();
        stream.then(move |arrived| {
            // This runs on a thread of the crate's: it may enqueue, and wait.
            arrived.expect("nothing has failed");
            match left {
                0 => self.done.send(self.v.to_vec().expect("a copy")).expect("a receiver"),
                _ => self.launch(left - 1).expect("the next batch"),
            }
        })
    }
}
// ANCHOR_END: then

#[test]
fn a_callback_launches_the_next_batch() -> thalweg::Result<()> {
    let device = simulated();
    let (done, results) = mpsc::channel();
    let again = Again {
        stream: Stream::new(&device)?,
        adjust: adjust::load(&device)?,
        v: DeviceBuf::from_slice(&device, &[0.0, 1.0])?,
        done,
    };
    again.launch(3)?;
    // v <- 2 v + 1, four times.
    assert_eq!(results.recv().expect("a result"), [15.0, 31.0]);
    Ok(())
}

// ANCHOR: host
/// The mean of an array that comes from the device, worked out on the CPU in the stream's order.
fn mean(device: &Device, v: &DeviceBuf<f32>) -> thalweg::Result<f64> {
    let stream = Stream::new(device)?;
    let mut host = PinnedBuf::zeroed(device, v.len())?;
    let (sender, receiver) = mpsc::channel();
    stream.download(v, &mut host)?;
    stream.host(move || {
        let sum: f64 = host.iter().map(|v| f64::from(*v)).sum();
        sender.send(sum / host.len() as f64).expect("a receiver");
    })?;
    stream.synchronize()?;
    Ok(receiver.recv().expect("it was called"))
}
// ANCHOR_END: host

// ANCHOR: forbidden
/// The error of a `host` function that uses the device.
fn forbidden(device: &Device) -> thalweg::Result<Error> {
    let (stream, inside) = (Stream::new(device)?, device.clone());
    let (sender, receiver) = mpsc::channel();
    stream.host(move || {
        sender.send(inside.synchronize()).expect("a receiver");
    })?;
    stream.synchronize()?;
    let outcome = receiver.recv().expect("it was called");
    Ok(outcome.unwrap_err())
}
// ANCHOR_END: forbidden

#[test]
fn functions_in_the_streams_order() -> thalweg::Result<()> {
    let device = simulated();
    let v = DeviceBuf::from_slice(&device, &[1.0, 2.0, 6.0])?;
    assert_eq!(mean(&device, &v)?, 3.0);
    let lines: Vec<_> = in_listing(&forbidden(&device)?, file!(), "forbidden").lines().map(folded).collect();
    check("11-forbidden.txt", &lines.join("\n"));
    Ok(())
}

// ANCHOR: pipeline
/// The largest element of a chunk.
fn peak(v: &[f32], peak: &mut [f32]) {
    peak[0] = v.iter().copied().fold(f32::NEG_INFINITY, f32::max);
}

stream_pipeline! {
    /// As `Adjust`; the CPU finds each chunk's peak, and is told of each chunk that is stored.
    pipeline Peaks {
        param gain: f32;
        param offset: f32;
        param told: mpsc::Sender<(usize, usize)>;
        input x: [f32];
        output z: [f32];
        output peaks: mapped [f32; 1] per chunk;
        host h: [f32];
        chunk c = 512 << 10;
        depth = 3;
        stage load { copy x -> v; }
        stage compute { adjust<<<blocks(c.len, 256), 256>>>(gain, offset, &mut v); }
        stage fetch { copy v -> h; }
        stage find { host peak(&h, out peaks); }
        stage store { copy v -> z; then |c| told.send((c.index, c.len)); }
    }
}
// ANCHOR_END: pipeline

#[test]
fn functions_of_a_pipeline() -> thalweg::Result<()> {
    let device = simulated();
    let (x, mut z) = (pinned_samples(&device)?, PinnedBuf::zeroed(&device, LEN)?);
    let mut peaks = PinnedBuf::zeroed(&device, 8)?;
    let (told, stored) = mpsc::channel();
    Peaks::new(&device)?.run(GAIN, OFFSET, told, &x, &mut z, &mut peaks)?;
    assert_adjusted(&z);
    let mut text = String::new();
    for (index, len) in stored {
        writeln!(text, "chunk {index}: {len} samples are stored, peak {}", peaks[index]).expect("a string");
    }
    check("11-told.txt", &text);
    Ok(())
}
