//! The null stream.

use std::fmt::Write as _;
// ANCHOR: uses
use std::time::Duration;

use thalweg::kernel::blocks;
use thalweg::streams::Stream;
use thalweg::{Device, DeviceBuf, PinnedBuf, Result};
// ANCHOR_END: uses

use super::c01_copy_compute_copy::stopwatch;
use super::kernel::{GAIN, OFFSET, adjust};
use super::{Us, assert_adjusted, check, pinned_samples, simulated};

// ANCHOR: job
/// An array on the host and its place on the device.
struct Job {
    host: PinnedBuf<f32>,
    v: DeviceBuf<f32>,
}

impl Job {
    /// Copy, compute, copy: enqueued, not done.
    fn enqueue(&mut self, stream: &Stream, adjust: &adjust) -> Result<()> {
        let n = self.host.len();
        stream.upload(&self.host, &mut self.v)?;
        let config = stream.config(blocks(n, 256), 256, 0);
        adjust.launch(config, GAIN, OFFSET, &mut self.v)?;
        stream.download(&self.v, &mut self.host)
    }
}
// ANCHOR_END: job

// ANCHOR: two
/// Two jobs, each on its stream, and between them something small on a third.
fn two(device: &Device, jobs: &mut [Job; 2], on: [&Stream; 2], between: Option<&Stream>) -> Result<()> {
    let adjust = adjust::load(device)?;
    let mut small = DeviceBuf::<f32>::zeroed(device, 1)?;
    let [first, second] = jobs;
    first.enqueue(on[0], &adjust)?;
    if let Some(stream) = between {
        stream.fill(&mut small, 0.0)?;
    }
    second.enqueue(on[1], &adjust)
}
// ANCHOR_END: two

fn time(device: &Device, on: [&Stream; 2], between: Option<&Stream>) -> Result<Duration> {
    let job = || -> Result<_> {
        let host = pinned_samples(device)?;
        Ok(Job { v: DeviceBuf::zeroed(device, host.len())?, host })
    };
    let mut jobs = [job()?, job()?];
    let (time, ()) = stopwatch(device, || two(device, &mut jobs, on, between))?;
    for job in &jobs {
        assert_adjusted(job.host.wait()?);
    }
    Ok(time)
}

#[test]
fn a_launch_without_a_stream_costs_the_overlap() -> Result<()> {
    let device = simulated();
    // ANCHOR: streams
    let null = Stream::null(&device)?;
    let blocking = [Stream::blocking(&device)?, Stream::blocking(&device)?];
    let streams = [Stream::new(&device)?, Stream::new(&device)?];
    // ANCHOR_END: streams
    let mut text = String::new();
    let mut row =
        |name: &str, time: Duration| writeln!(text, "{name:<46} {:>10}", Us(time)).expect("a string");
    let ([a, b], [c, d]) = (&blocking, &streams);
    let both_null = time(&device, [&null, &null], None)?;
    row("both on the null stream", both_null);
    row("two blocking streams", time(&device, [a, b], None)?);
    let serialised = time(&device, [a, b], Some(&null))?;
    row("two blocking streams, a fill on the null stream", serialised);
    let overlapped = time(&device, [c, d], Some(&null))?;
    row("two streams, a fill on the null stream", overlapped);
    assert!(serialised > overlapped.mul_f64(1.2) && both_null > overlapped.mul_f64(1.2));
    check("02-null.txt", &text);
    Ok(())
}
