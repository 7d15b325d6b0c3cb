//! Prefetching and depth.

// ANCHOR: uses
use thalweg::prelude::*;
// ANCHOR_END: uses

use super::c07_as_a_pipeline::Adjust;
use super::kernel::{GAIN, OFFSET, adjust};
use super::{LEN, Us, assert_adjusted, check, pinned_samples, simulated};

#[test]
fn a_deeper_ring_overlaps_more() -> thalweg::Result<()> {
    let device = simulated();
    let (x, mut z) = (pinned_samples(&device)?, PinnedBuf::zeroed(&device, LEN)?);
    let mut text = format!("{:<6} {:>10} {:>16}\n", "depth", "time", "device memory");
    // ANCHOR: depths
    for depth in 1..=6 {
        let mut adjust = Adjust::options(&device).depth(depth).build()?;
        let report = adjust.run(GAIN, OFFSET, &x, &mut z)?;
        let (time, memory) = (Us(report.time), report.device_memory >> 20);
        text += &format!("{depth:<6} {time:>10} {memory:>12} MiB\n");
    }
    // ANCHOR_END: depths
    assert_adjusted(&z);
    check("08-depths.txt", &text);
    for (depth, shown) in [(1, "08-depth-1.txt"), (2, "08-depth-2.txt")] {
        let timeline = Adjust::options(&device).depth(depth).build()?.profile(GAIN, OFFSET, &x, &mut z)?;
        check(shown, &timeline.to_string());
    }
    Ok(())
}

// ANCHOR: left_out
stream_pipeline! {
    /// The chunk, the depth and the streams are left to the macro and the runtime.
    pub pipeline Auto {
        param gain: f32;
        param offset: f32;
        input x: [f32];
        output z: [f32];
        chunk c = auto;
        stage load { copy x -> v; }
        stage compute { adjust<<<blocks(c.len, 256), 256>>>(gain, offset, &mut v); }
        stage store { copy v -> z; }
    }
}
// ANCHOR_END: left_out

#[test]
fn what_is_left_out_is_chosen() -> thalweg::Result<()> {
    let device = simulated();
    let (x, mut z) = (pinned_samples(&device)?, PinnedBuf::zeroed(&device, LEN)?);
    let report = Auto::new(&device)?.run(GAIN, OFFSET, &x, &mut z)?;
    assert_adjusted(&z);
    check("08-auto.txt", &report.to_string());
    Ok(())
}
