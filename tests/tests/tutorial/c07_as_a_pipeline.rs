//! The chunked pipeline as `stream_pipeline!`.

// ANCHOR: uses
use thalweg::prelude::*;
// ANCHOR_END: uses

use super::c06_by_hand::by_hand;
use super::kernel::{GAIN, OFFSET, adjust};
use super::{LEN, Us, assert_adjusted, check, pinned_samples, simulated};

// ANCHOR: pipeline
stream_pipeline! {
    /// `z <- gain * x + offset`, chunk by chunk.
    pub pipeline Adjust {
        param gain: f32;
        param offset: f32;
        input x: [f32];
        output z: [f32];

        chunk c = 512 << 10;
        depth = 3;

        stream up;
        stream math;
        stream down;

        stage load on up { copy x -> v; }
        stage compute on math { adjust<<<blocks(c.len, 256), 256>>>(gain, offset, &mut v); }
        stage store on down { copy v -> z; }
    }
}
// ANCHOR_END: pipeline

// ANCHOR: run
fn adjusted(device: &Device, x: &PinnedBuf<f32>, z: &mut PinnedBuf<f32>) -> thalweg::Result<Report> {
    let mut adjust = Adjust::new(device)?;
    adjust.run(GAIN, OFFSET, x, z)
}
// ANCHOR_END: run

#[test]
fn it_is_the_same_program() -> thalweg::Result<()> {
    let device = simulated();
    let (x, mut z) = (pinned_samples(&device)?, PinnedBuf::zeroed(&device, LEN)?);
    let report = adjusted(&device, &x, &mut z)?;
    assert_adjusted(&z);
    let by_hand = by_hand(&device)?;
    let ratio = report.time.as_secs_f64() / by_hand.as_secs_f64();
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    check("07-report.txt", &report.to_string());
    check("07-plan.txt", &Adjust::PLAN.to_string());
    check("07-times.txt", &format!("by hand   {:>9}\npipeline  {:>9}", Us(by_hand), Us(report.time)));
    let timeline = Adjust::new(&device)?.profile(GAIN, OFFSET, &x, &mut z)?;
    check("07-timeline.txt", &timeline.to_string());
    Ok(())
}
