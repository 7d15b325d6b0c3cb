//! Streams, and the four values of a launch.

// ANCHOR: uses
use thalweg::kernel::blocks;
use thalweg::streams::Stream;
use thalweg::{Device, DeviceBuf, PinnedBuf, Result};
// ANCHOR_END: uses
use thalweg_tests::book::in_listing;

use super::c01_copy_compute_copy::stopwatch;
use super::kernel::{GAIN, OFFSET, adjust, cuda};
use super::{LEN, Us, assert_adjusted, check, folded, pinned_samples, simulated};

// ANCHOR: async
/// Asks a stream whether it is done, right after the last call and after waiting.
fn asked(device: &Device, host: &mut PinnedBuf<f32>) -> Result<[bool; 2]> {
    let (stream, adjust) = (Stream::new(device)?, adjust::load(device)?);
    let mut v = DeviceBuf::zeroed(device, LEN)?;
    stream.upload(&*host, &mut v)?;
    adjust.launch(stream.config(blocks(LEN, 256), 256, 0), GAIN, OFFSET, &mut v)?;
    stream.download(&v, &mut *host)?;
    let at_once = stream.query()?;
    stream.synchronize()?;
    Ok([at_once, stream.query()?])
}
// ANCHOR_END: async

#[test]
fn enqueued_is_not_done() -> Result<()> {
    let device = simulated();
    let mut host = pinned_samples(&device)?;
    let [at_once, waited] = asked(&device, &mut host)?;
    assert_adjusted(&host);
    check("03-query.txt", &format!("after the last call: {at_once}\nafter synchronize:   {waited}"));
    Ok(())
}

#[test]
fn the_grid_decides_how_much_of_the_device_works() -> Result<()> {
    let device = simulated();
    let stream = Stream::new(&device)?;
    let mut v = DeviceBuf::<f32>::zeroed(&device, LEN)?;
    let mut text = format!("{:>6} {:>6} {:>12}\n", "grid", "block", "time");
    // ANCHOR: grids
    let adjust = cuda::adjust::load(&device)?; // its threads loop
    for (grid, block) in [(1, 256), (33, 256), (132, 256), (blocks(LEN, 256), 256)] {
        let (time, ()) = stopwatch(&device, || {
            adjust.launch(stream.config(grid, block, 0), LEN as u32, GAIN, OFFSET, &mut v)
        })?;
        text += &format!("{grid:>6} {block:>6} {:>12}\n", Us(time));
    }
    // ANCHOR_END: grids
    check("03-grids.txt", &text);
    Ok(())
}

// ANCHOR: too_many
fn too_many(stream: &Stream, adjust: &adjust, v: &mut DeviceBuf<f32>) -> Result<()> {
    adjust.launch(stream.config(1, 2048, 0), GAIN, OFFSET, v)
}
// ANCHOR_END: too_many

// ANCHOR: too_few
fn too_few(stream: &Stream, adjust: &adjust, v: &mut DeviceBuf<f32>) -> Result<()> {
    adjust.launch(stream.config(1, 256, 0), GAIN, OFFSET, v)
}
// ANCHOR_END: too_few

#[test]
fn launches_that_are_refused() -> Result<()> {
    let device = simulated();
    let (stream, adjust) = (Stream::new(&device)?, adjust::load(&device)?);
    let mut v = DeviceBuf::<f32>::zeroed(&device, 1000)?;
    let error = too_many(&stream, &adjust, &mut v).unwrap_err();
    check("03-too-many.txt", &in_listing(&error, file!(), "too_many"));
    let error = too_few(&stream, &adjust, &mut v).unwrap_err();
    let lines: Vec<_> = in_listing(&error, file!(), "too_few").lines().map(folded).collect();
    check("03-too-few.txt", &lines.join("\n"));
    Ok(())
}
