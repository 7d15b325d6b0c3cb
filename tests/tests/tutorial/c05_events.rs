//! Events, for order and for time.

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

// ANCHOR: forgotten
fn forgotten(device: &Device, x: &PinnedBuf<f32>) -> Result<Vec<f32>> {
    let (copies, math) = (Stream::new(device)?, Stream::new(device)?);
    let adjust = adjust::load(device)?;
    let mut v = DeviceBuf::zeroed(device, LEN)?;

    copies.upload(x, &mut v)?;
    let config = math.config(blocks(LEN, 256), 256, 0);
    adjust.launch(config, GAIN, OFFSET, &mut v)?;
    v.to_vec()
}
// ANCHOR_END: forgotten

// ANCHOR: ordered
fn ordered(device: &Device, x: &PinnedBuf<f32>) -> Result<Vec<f32>> {
    let (copies, math) = (Stream::new(device)?, Stream::new(device)?);
    let adjust = adjust::load(device)?;
    let mut v = DeviceBuf::zeroed(device, LEN)?;
    let loaded = Event::new(device)?;

    copies.upload(x, &mut v)?;
    copies.record(&loaded)?; // stands for the copy
    math.wait(&loaded)?; // the host does not wait, the stream will
    let config = math.config(blocks(LEN, 256), 256, 0);
    adjust.launch(config, GAIN, OFFSET, &mut v)?;
    v.to_vec()
}
// ANCHOR_END: ordered

#[test]
fn an_event_orders_two_streams() -> Result<()> {
    let device = simulated();
    let x = pinned_samples(&device)?;
    let error = forgotten(&device, &x).unwrap_err();
    check("05-race.txt", &in_listing(&error, file!(), "forgotten"));
    assert_adjusted(&ordered(&device, &x)?);
    Ok(())
}

// ANCHOR: time
/// The time of each of three operations, by events around them.
fn timed(device: &Device, host: &mut PinnedBuf<f32>) -> Result<[Duration; 3]> {
    let (stream, adjust) = (Stream::new(device)?, adjust::load(device)?);
    let mut v = DeviceBuf::zeroed(device, LEN)?;
    let event = || Event::with_timing(device);
    let [begun, loaded, adjusted, stored] = &[event()?, event()?, event()?, event()?];

    stream.record(begun)?;
    stream.upload(&*host, &mut v)?;
    stream.record(loaded)?;
    let config = stream.config(blocks(LEN, 256), 256, 0);
    adjust.launch(config, GAIN, OFFSET, &mut v)?;
    stream.record(adjusted)?;
    stream.download(&v, host)?;
    stream.record(stored)?;

    stored.synchronize()?; // else `elapsed` is an error
    Ok([begun.elapsed(loaded)?, loaded.elapsed(adjusted)?, adjusted.elapsed(stored)?])
}
// ANCHOR_END: time

#[test]
fn events_tell_the_time() -> Result<()> {
    let device = simulated();
    let mut host = pinned_samples(&device)?;
    let times = timed(&device, &mut host)?;
    assert_adjusted(&host);
    let mut text = String::new();
    for (name, time) in ["upload", "adjust", "download"].into_iter().zip(times) {
        writeln!(text, "{name:<10} {:>9}", Us(time)).expect("a string");
    }
    check("05-times.txt", &text);
    Ok(())
}

// ANCHOR: cost
/// The host's cost of a thousand pairs of a record and a wait.
fn cost(device: &Device) -> Result<Duration> {
    let (one, other, event) = (Stream::new(device)?, Stream::new(device)?, Event::new(device)?);
    let (time, ()) = stopwatch(device, || {
        for _ in 0..1000 {
            one.record(&event)?;
            other.wait(&event)?;
        }
        Ok(())
    })?;
    Ok(time)
}
// ANCHOR_END: cost

#[test]
fn events_are_not_free() -> Result<()> {
    let time = cost(&simulated())?;
    check("05-cost.txt", &format!("1000 records and 1000 waits: {}", Us(time)));
    Ok(())
}
