//! Pinned and pageable memory.

use std::fmt::Write as _;
// ANCHOR: uses
use std::time::Duration;

use thalweg::streams::Stream;
use thalweg::{Device, DeviceBuf, PinnedBuf, Result};
// ANCHOR_END: uses

use super::c01_copy_compute_copy::stopwatch;
use super::{LEN, Us, check, samples, simulated};

// ANCHOR: copies
/// The time of a copy to the device: from ordinary memory, and from page-locked memory.
fn copies(device: &Device, x: &[f32]) -> Result<[Duration; 2]> {
    let stream = Stream::new(device)?;
    let mut v = DeviceBuf::zeroed(device, x.len())?;
    let locked = PinnedBuf::from_slice(device, x)?;
    let (pageable, ()) = stopwatch(device, || v.copy_from_slice(x))?;
    let (pinned, ()) = stopwatch(device, || stream.upload(&locked, &mut v))?;
    assert_eq!(v.to_vec()?, x);
    Ok([pageable, pinned])
}
// ANCHOR_END: copies

// ANCHOR: overlap
/// A copy in and a copy out at the same time, both of page-locked memory.
fn both_ways(device: &Device) -> Result<Duration> {
    let (up, down) = (Stream::new(device)?, Stream::new(device)?);
    let (x, mut z) = (PinnedBuf::<f32>::zeroed(device, LEN)?, PinnedBuf::<f32>::zeroed(device, LEN)?);
    let (mut dx, dz) = (DeviceBuf::zeroed(device, LEN)?, DeviceBuf::zeroed(device, LEN)?);
    let (time, ()) = stopwatch(device, || {
        up.upload(&x, &mut dx)?;
        down.download(&dz, &mut z)
    })?;
    Ok(time)
}
// ANCHOR_END: overlap

#[test]
fn ordinary_memory_takes_longer() -> Result<()> {
    let device = simulated();
    let x = samples(LEN);
    let [pageable, pinned] = copies(&device, &x)?;
    let both = both_ways(&device)?;
    let mut text = String::new();
    let mut row = |name: &str, time: Duration, bytes: usize| {
        let rate = bytes as f64 / time.as_secs_f64() / 1e9;
        writeln!(text, "{name:<34} {:>9} {rate:>7.1} GB/s", Us(time)).expect("a string");
    };
    row("16 MiB in, from a Vec", pageable, 4 * LEN);
    row("16 MiB in, from a PinnedBuf", pinned, 4 * LEN);
    row("16 MiB in and 16 MiB out, pinned", both, 8 * LEN);
    assert!(pageable > pinned && both < pinned.mul_f64(1.3));
    check("04-copies.txt", &text);
    Ok(())
}

// ANCHOR: guarded
/// Looks at a buffer that a copy is still to write.
fn guarded(device: &Device, x: &[f32]) -> Result<f32> {
    let stream = Stream::new(device)?;
    let v = DeviceBuf::from_slice(device, x)?;
    let mut z = PinnedBuf::zeroed(device, x.len())?;
    stream.download(&v, &mut z)?;
    Ok(z[x.len() - 1]) // waits for the copy
}
// ANCHOR_END: guarded

// ANCHOR: registered
/// A `Vec` whose pages are locked while the device uses them.
fn registered(device: &Device, data: Vec<f32>) -> Result<Vec<f32>> {
    let stream = Stream::new(device)?;
    let mut v = DeviceBuf::zeroed(device, data.len())?;
    let mut data = PinnedBuf::register(device, data)?;
    stream.upload(&data, &mut v)?;
    stream.fill(v.slice_mut(..1)?, -1.0)?;
    stream.download(&v, &mut data)?;
    data.into_vec()
}
// ANCHOR_END: registered

#[test]
fn who_looks_at_a_buffer_waits() -> Result<()> {
    let device = simulated();
    let x = samples(10_000);
    assert_eq!(guarded(&device, &x)?, 999.0);
    let mut expected = x.clone();
    expected[0] = -1.0;
    assert_eq!(registered(&device, x)?, expected);
    Ok(())
}
