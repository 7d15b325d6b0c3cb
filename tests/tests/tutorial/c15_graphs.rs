//! Graphs.

use std::fmt::Write as _;
// ANCHOR: uses
use std::time::Duration;

use thalweg::kernel::blocks;
use thalweg::prelude::*;
use thalweg::streams::{Event, Stream};
// ANCHOR_END: uses

use super::c07_as_a_pipeline::Adjust;
use super::kernel::{GAIN, OFFSET, adjust};
use super::{LEN, Us, assert_adjusted, check, pinned_samples, simulated};

// ANCHOR: frame
/// A frame: a copy in, four kernels, a copy out.
fn enqueue(
    stream: &Stream,
    adjust: &adjust,
    x: &PinnedBuf<f32>,
    v: &mut DeviceBuf<f32>,
    z: &mut PinnedBuf<f32>,
) -> thalweg::Result<()> {
    let n = x.len();
    stream.upload(x, &mut *v)?;
    for _ in 0..4 {
        adjust.launch(stream.config(blocks(n, 256), 256, 0), GAIN, OFFSET, &mut *v)?;
    }
    stream.download(&*v, z)
}
// ANCHOR_END: frame

// ANCHOR: frames
/// Enqueues a hundred frames, call by call or as a graph. Returns the host's time and the whole time.
fn frames(device: &Device, as_graph: bool) -> thalweg::Result<[Duration; 2]> {
    let (stream, clock, adjust) = (Stream::new(device)?, Stream::new(device)?, adjust::load(device)?);
    let x = PinnedBuf::from_slice(device, &[1.0; 1024])?;
    let (mut v, mut z) = (DeviceBuf::zeroed(device, 1024)?, PinnedBuf::zeroed(device, 1024)?);
    let event = || Event::with_timing(device);
    let [begun, enqueued, done] = &[event()?, event()?, event()?];

    let graph = stream.capture(|stream| enqueue(stream, &adjust, &x, &mut v, &mut z))?;
    clock.record(begun)?;
    for _ in 0..100 {
        if as_graph {
            graph.launch_with(&stream, (&x, &mut z))?;
        } else {
            enqueue(&stream, &adjust, &x, &mut v, &mut z)?;
        }
    }
    clock.record(enqueued)?;
    stream.synchronize()?;
    clock.record(done)?;
    done.synchronize()?;
    assert_eq!(z[..], [31.0; 1024]);
    Ok([begun.elapsed(enqueued)?, begun.elapsed(done)?])
}
// ANCHOR_END: frames

#[test]
fn a_graph_is_one_call() -> thalweg::Result<()> {
    let device = simulated();
    let mut text = format!("{:<22} {:>12} {:>12}\n", "100 frames", "the host", "all");
    for (name, as_graph) in [("call by call", false), ("a graph a frame", true)] {
        let [host, all] = frames(&device, as_graph)?.map(Us);
        writeln!(text, "{name:<22} {host:>12} {all:>12}").expect("a string");
    }
    check("15-frames.txt", &text);
    Ok(())
}

#[test]
fn a_pipeline_in_graph_mode() -> thalweg::Result<()> {
    let device = simulated();
    let (x, mut z) = (pinned_samples(&device)?, PinnedBuf::zeroed(&device, LEN)?);
    let mut text = format!("{:<22} {:>12} {:>12}\n", "chunks of 16 KiB", "the host", "all");
    // ANCHOR: modes
    let options = || Adjust::options(&device).chunk(4 << 10);
    let modes = [("mode = streams", options().build()?), ("mode = graph", options().graph().build()?)];
    for (name, mut adjust) in modes {
        adjust.run(GAIN, OFFSET, &x, &mut z)?; // makes the graphs
        let report = adjust.run(GAIN, OFFSET, &x, &mut z)?;
        let (host, all) = (Us(report.enqueuing), Us(report.time));
        text += &format!("{name:<22} {host:>12} {all:>12}\n");
    }
    // ANCHOR_END: modes
    assert_adjusted(&z);
    check("15-modes.txt", &text);
    Ok(())
}
