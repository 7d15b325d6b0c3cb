//! Copy, compute, copy.

use std::fmt::Write as _;
// ANCHOR: uses
use std::time::Duration;

use thalweg::kernel::blocks;
use thalweg::streams::{Event, Stream};
use thalweg::{Device, DeviceBuf, Result};
// ANCHOR_END: uses

use super::kernel::{GAIN, OFFSET, adjust};
use super::{LEN, Us, assert_adjusted, check, samples, simulated};

// ANCHOR: program
/// `x` with its contrast and brightness adjusted.
fn adjusted(device: &Device, x: &[f32]) -> Result<Vec<f32>> {
    let stream = Stream::null(device)?;
    let adjust = adjust::load(device)?;

    let mut v = DeviceBuf::from_slice(device, x)?; // allocate, copy in
    let config = stream.config(blocks(x.len(), 256), 256, 0);
    adjust.launch(config, GAIN, OFFSET, &mut v)?; // compute
    v.to_vec() // copy out
}
// ANCHOR_END: program

// ANCHOR: stopwatch
/// The time of some work on the device's clock, from its first call to its last result.
pub fn stopwatch<T>(device: &Device, work: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
    let clock = Stream::new(device)?;
    let (start, stop) = (Event::with_timing(device)?, Event::with_timing(device)?);
    clock.record(&start)?;
    let done = work()?;
    device.synchronize()?;
    clock.record(&stop)?;
    stop.synchronize()?;
    Ok((start.elapsed(&stop)?, done))
}
// ANCHOR_END: stopwatch

// ANCHOR: parts
/// The time of each of the three steps.
fn steps(device: &Device, x: &[f32]) -> Result<[Duration; 3]> {
    let (stream, adjust) = (Stream::null(device)?, adjust::load(device)?);
    let config = || stream.config(blocks(x.len(), 256), 256, 0);
    let mut v = DeviceBuf::zeroed(device, x.len())?;
    let (copy_in, ()) = stopwatch(device, || v.copy_from_slice(x))?;
    let launch = || adjust.launch(config(), GAIN, OFFSET, &mut v);
    let (compute, ()) = stopwatch(device, launch)?;
    let (copy_out, _) = stopwatch(device, || v.to_vec())?;
    Ok([copy_in, compute, copy_out])
}
// ANCHOR_END: parts

#[test]
fn the_program_and_its_times() -> Result<()> {
    let device = simulated();
    let x = samples(LEN);
    let (all, z) = stopwatch(&device, || adjusted(&device, &x))?;
    assert_adjusted(&z);
    let parts = steps(&device, &x)?;
    let mut text = String::new();
    for (name, time) in ["copy in", "compute", "copy out"].into_iter().zip(parts) {
        let share = 100.0 * time.as_secs_f64() / all.as_secs_f64();
        writeln!(text, "{name:<10} {:>10} {share:>5.1} %", Us(time)).expect("a string");
    }
    write!(text, "{:<10} {:>10}", "program", Us(all)).expect("a string");
    check("01-steps.txt", &text);
    Ok(())
}
