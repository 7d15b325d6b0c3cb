//! The chunked pipeline by hand.

use std::fmt::Write as _;
// ANCHOR: uses
use std::time::Duration;

use thalweg::kernel::blocks;
use thalweg::streams::{Event, Stream};
use thalweg::{Device, DeviceBuf, PinnedBuf, Result};
// ANCHOR_END: uses
use thalweg_tests::book::in_listing;

use super::c01_copy_compute_copy::stopwatch;
use super::kernel::{GAIN, OFFSET, adjust};
use super::{LEN, Us, assert_adjusted, check, pinned_samples, simulated};

// ANCHOR: one
/// Chunk after chunk, all on one stream.
fn on_one_stream(device: &Device, x: &PinnedBuf<f32>, z: &mut PinnedBuf<f32>, chunk: usize) -> Result<()> {
    let (stream, adjust) = (Stream::new(device)?, adjust::load(device)?);
    let mut v = DeviceBuf::zeroed(device, chunk)?;
    for start in (0..x.len()).step_by(chunk) {
        let range = start..(start + chunk).min(x.len());
        let n = range.len();
        stream.upload(x.slice(range.clone())?, v.slice_mut(..n)?)?;
        let config = stream.config(blocks(n, 256), 256, 0);
        adjust.launch(config, GAIN, OFFSET, v.slice_mut(..n)?)?;
        stream.download(v.slice(..n)?, z.slice_mut(range)?)?;
    }
    stream.synchronize()
}
// ANCHOR_END: one

// ANCHOR: slot
/// The number of chunks that are under way at once.
const DEPTH: usize = 3;

/// The device memory of one chunk, and how far its chunk is.
struct Slot {
    v: DeviceBuf<f32>,
    loaded: Event,
    adjusted: Event,
    stored: Event,
}

impl Slot {
    fn new(device: &Device, chunk: usize) -> Result<Self> {
        let event = || Event::new(device);
        Ok(Self {
            v: DeviceBuf::zeroed(device, chunk)?,
            loaded: event()?,
            adjusted: event()?,
            stored: event()?,
        })
    }
}
// ANCHOR_END: slot

// ANCHOR: pipeline
/// Copies in, kernels and copies out, each on its stream.
fn pipelined(device: &Device, x: &PinnedBuf<f32>, z: &mut PinnedBuf<f32>, chunk: usize) -> Result<()> {
    let (up, math, down) = (Stream::new(device)?, Stream::new(device)?, Stream::new(device)?);
    let adjust = adjust::load(device)?;
    let mut ring = (0..DEPTH).map(|_| Slot::new(device, chunk)).collect::<Result<Vec<_>>>()?;

    for (c, start) in (0..x.len()).step_by(chunk).enumerate() {
        let range = start..(start + chunk).min(x.len());
        let n = range.len();
        let slot = &mut ring[c % DEPTH];

        up.wait(&slot.stored)?; // chunk `c - DEPTH` has left the slot
        up.upload(x.slice(range.clone())?, slot.v.slice_mut(..n)?)?;
        up.record(&slot.loaded)?;

        math.wait(&slot.loaded)?;
        let config = math.config(blocks(n, 256), 256, 0);
        adjust.launch(config, GAIN, OFFSET, slot.v.slice_mut(..n)?)?;
        math.record(&slot.adjusted)?;

        down.wait(&slot.adjusted)?;
        down.download(slot.v.slice(..n)?, z.slice_mut(range)?)?;
        down.record(&slot.stored)?;
    }
    down.synchronize()
}
// ANCHOR_END: pipeline

pub const CHUNK: usize = LEN / 8;

/// The time of [`pipelined`].
pub fn by_hand(device: &Device) -> Result<Duration> {
    let (x, mut z) = (pinned_samples(device)?, PinnedBuf::zeroed(device, LEN)?);
    let (time, ()) = stopwatch(device, || pipelined(device, &x, &mut z, CHUNK))?;
    assert_adjusted(&z);
    Ok(time)
}

#[test]
fn three_streams_overlap() -> Result<()> {
    let device = simulated();
    let (x, mut z) = (pinned_samples(&device)?, PinnedBuf::zeroed(&device, LEN)?);
    let mut text = String::new();
    let mut row =
        |name: &str, time: Duration| writeln!(text, "{name:<26} {:>9}", Us(time)).expect("a string");
    let (whole, ()) = stopwatch(&device, || on_one_stream(&device, &x, &mut z, LEN))?;
    assert_adjusted(&z);
    row("one chunk, one stream", whole);
    let (one, ()) = stopwatch(&device, || on_one_stream(&device, &x, &mut z, CHUNK))?;
    assert_adjusted(&z);
    row("8 chunks, one stream", one);
    let three = by_hand(&device)?;
    row("8 chunks, three streams", three);
    assert!(three < one.mul_f64(0.65));
    check("06-times.txt", &text);
    Ok(())
}

/// Like `pipelined`, with events of each chunk that tell the time.
fn watched(device: &Device, x: &PinnedBuf<f32>, z: &mut PinnedBuf<f32>, chunk: usize) -> Result<String> {
    let (up, math, down) = (Stream::new(device)?, Stream::new(device)?, Stream::new(device)?);
    let adjust = adjust::load(device)?;
    let mut ring = (0..DEPTH).map(|_| DeviceBuf::zeroed(device, chunk)).collect::<Result<Vec<_>>>()?;
    let begun = Event::with_timing(device)?;
    up.record(&begun)?;
    let mut chunks: Vec<[Event; 3]> = Vec::new();
    for (c, start) in (0..x.len()).step_by(chunk).enumerate() {
        let event = || Event::with_timing(device);
        let (range, events) = (start..start + chunk, [event()?, event()?, event()?]);
        let v = &mut ring[c % DEPTH];
        if c >= DEPTH {
            up.wait(&chunks[c - DEPTH][2])?;
        }
        up.upload(x.slice(range.clone())?, &mut *v)?;
        up.record(&events[0])?;
        math.wait(&events[0])?;
        adjust.launch(math.config(blocks(chunk, 256), 256, 0), GAIN, OFFSET, &mut *v)?;
        math.record(&events[1])?;
        down.wait(&events[1])?;
        down.download(&*v, z.slice_mut(range)?)?;
        down.record(&events[2])?;
        chunks.push(events);
    }
    down.synchronize()?;
    let mut text = format!("{:<6} {:>10} {:>10} {:>10}\n", "chunk", "loaded", "adjusted", "stored");
    for (c, events) in chunks.iter().enumerate() {
        let [loaded, adjusted, stored] = [0, 1, 2].map(|i| begun.elapsed(&events[i]).map(Us));
        writeln!(text, "{c:<6} {:>10} {:>10} {:>10}", loaded?, adjusted?, stored?).expect("a string");
    }
    Ok(text)
}

#[test]
fn what_each_chunk_does() -> Result<()> {
    let device = simulated();
    let (x, mut z) = (pinned_samples(&device)?, PinnedBuf::zeroed(&device, LEN)?);
    let text = watched(&device, &x, &mut z, CHUNK)?;
    assert_adjusted(&z);
    check("06-chunks.txt", &text);
    Ok(())
}

// ANCHOR: reused
/// The loop of `pipelined` without its first line.
fn reused(device: &Device, x: &PinnedBuf<f32>, z: &mut PinnedBuf<f32>, chunk: usize) -> Result<()> {
    let (up, math, down) = (Stream::new(device)?, Stream::new(device)?, Stream::new(device)?);
    let adjust = adjust::load(device)?;
    let mut ring = (0..DEPTH).map(|_| Slot::new(device, chunk)).collect::<Result<Vec<_>>>()?;

    for (c, start) in (0..x.len()).step_by(chunk).enumerate() {
        let range = start..(start + chunk).min(x.len());
        let n = range.len();
        let slot = &mut ring[c % DEPTH];

        up.upload(x.slice(range.clone())?, slot.v.slice_mut(..n)?)?;
        up.record(&slot.loaded)?;

        math.wait(&slot.loaded)?;
        let config = math.config(blocks(n, 256), 256, 0);
        adjust.launch(config, GAIN, OFFSET, slot.v.slice_mut(..n)?)?;
        math.record(&slot.adjusted)?;

        down.wait(&slot.adjusted)?;
        down.download(slot.v.slice(..n)?, z.slice_mut(range)?)?;
    }
    down.synchronize()
}
// ANCHOR_END: reused

#[test]
fn a_slot_that_is_not_waited_for_is_a_race() -> Result<()> {
    let device = simulated();
    let (x, mut z) = (pinned_samples(&device)?, PinnedBuf::zeroed(&device, LEN)?);
    let error = reused(&device, &x, &mut z, CHUNK).unwrap_err();
    check("06-race.txt", &in_listing(&error, file!(), "reused"));
    Ok(())
}
