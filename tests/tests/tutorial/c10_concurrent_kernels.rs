//! Concurrent kernels.

use std::fmt::Write as _;
// ANCHOR: uses
use std::time::Duration;

use thalweg::Timeline;
use thalweg::prelude::*;
use thalweg::streams::Stream;
// ANCHOR_END: uses

use super::c01_copy_compute_copy::stopwatch;
use super::kernel::{GAIN, OFFSET, cuda};
use super::{LEN, Us, assert_adjusted, check, pinned_samples, simulated};

// ANCHOR: kernels
/// The time of eight kernels of so many blocks, spread over so many streams.
fn kernels(device: &Device, grid: u32, streams: usize) -> thalweg::Result<Duration> {
    const N: usize = LEN / 8;
    let adjust = cuda::adjust::load(device)?;
    let streams = (0..streams).map(|_| Stream::new(device)).collect::<thalweg::Result<Vec<_>>>()?;
    let mut parts = (0..8).map(|_| DeviceBuf::zeroed(device, N)).collect::<thalweg::Result<Vec<_>>>()?;
    let (time, ()) = stopwatch(device, || {
        for (k, v) in parts.iter_mut().enumerate() {
            let stream = &streams[k % streams.len()];
            adjust.launch(stream.config(grid, 256, 0), N as u32, GAIN, OFFSET, v)?;
        }
        Ok(())
    })?;
    Ok(time)
}
// ANCHOR_END: kernels

#[test]
fn kernels_that_leave_room_overlap() -> thalweg::Result<()> {
    let device = simulated();
    let mut text = format!("{:>6} {:>12} {:>12} {:>12}\n", "grid", "1 stream", "2 streams", "8 streams");
    for grid in [2, 16, 132, 2048] {
        let [one, two, eight] = [1, 2, 8].map(|streams| kernels(&device, grid, streams).map(Us));
        writeln!(text, "{grid:>6} {:>12} {:>12} {:>12}", one?, two?, eight?).expect("a string");
    }
    check("10-kernels.txt", &text);
    Ok(())
}

// ANCHOR: per_slot
stream_pipeline! {
    /// A kernel of one block, and a stream for the kernels of each slot.
    pub pipeline PerSlot {
        param gain: f32;
        param offset: f32;
        input x: [f32];
        output z: [f32];
        chunk c = 512 << 10;
        depth = 4;
        stream up;
        stream math per slot;
        stream down;
        stage load on up { copy x -> v; }
        stage compute on math { cuda::adjust<<<1, 256>>>(c.len as u32, gain, offset, &mut v); }
        stage store on down { copy v -> z; }
    }
}
// ANCHOR_END: per_slot

stream_pipeline! {
    /// The same with one stream for them all.
    pub pipeline OneForAll {
        param gain: f32;
        param offset: f32;
        input x: [f32];
        output z: [f32];
        chunk c = 512 << 10;
        depth = 4;
        stream up;
        stream math;
        stream down;
        stage load on up { copy x -> v; }
        stage compute on math { cuda::adjust<<<1, 256>>>(c.len as u32, gain, offset, &mut v); }
        stage store on down { copy v -> z; }
    }
}

#[test]
fn kernels_of_different_slots_overlap() -> thalweg::Result<()> {
    let device = simulated();
    let (x, mut z) = (pinned_samples(&device)?, PinnedBuf::zeroed(&device, LEN)?);
    let one = OneForAll::new(&device)?.profile(GAIN, OFFSET, &x, &mut z)?;
    assert_adjusted(&z);
    z.fill(0.0);
    let per_slot = PerSlot::new(&device)?.profile(GAIN, OFFSET, &x, &mut z)?;
    assert_adjusted(&z);
    let time = |timeline: &Timeline| timeline.time();
    assert!(time(&per_slot) < time(&one).mul_f64(0.8));
    check("10-one.txt", &one.to_string());
    check("10-per-slot.txt", &per_slot.to_string());
    Ok(())
}
