//! Finding out why it does not overlap.

// ANCHOR: uses
use thalweg::Timeline;
use thalweg::prelude::*;
use thalweg::timeline::Cause;
// ANCHOR_END: uses

use super::c07_as_a_pipeline::Adjust;
use super::c10_concurrent_kernels::OneForAll;
use super::kernel::{GAIN, OFFSET, adjust};
use super::{LEN, check, pinned_samples, samples, simulated};

// ANCHOR: one_stream
stream_pipeline! {
    /// Everything on one stream.
    pipeline OneStream {
        param gain: f32;
        param offset: f32;
        input x: [f32];
        output z: [f32];
        chunk c = 512 << 10;
        depth = 3;
        stream s;
        stage load on s { copy x -> v; }
        stage compute on s { adjust<<<blocks(c.len, 256), 256>>>(gain, offset, &mut v); }
        stage store on s { copy v -> z; }
    }
}
// ANCHOR_END: one_stream

// ANCHOR: report
/// The chart of a run, and its costliest finding.
fn diagnosis(timeline: &Timeline) -> String {
    let findings: Vec<_> = timeline.findings().iter().map(ToString::to_string).collect();
    format!("{}\n\n{}", timeline.gantt(), findings.join("\n"))
}
// ANCHOR_END: report

fn finds(timeline: &Timeline, cause: Cause, name: &str) {
    let findings = timeline.findings();
    assert_eq!(findings.first().map(|finding| finding.cause), Some(cause), "{findings:?}");
    check(name, &diagnosis(timeline));
}

#[test]
fn each_reason_is_named() -> thalweg::Result<()> {
    let device = simulated();
    let (x, mut z) = (pinned_samples(&device)?, PinnedBuf::zeroed(&device, LEN)?);

    let timeline = OneStream::new(&device)?.profile(GAIN, OFFSET, &x, &mut z)?;
    finds(&timeline, Cause::OneStream, "16-one-stream.txt");

    let timeline = Adjust::options(&device).depth(1).build()?.profile(GAIN, OFFSET, &x, &mut z)?;
    finds(&timeline, Cause::DepthTooSmall, "16-depth.txt");

    let timeline = Adjust::options(&device).chunk(4 << 10).build()?.predict(GAIN, OFFSET, &x, &mut z)?;
    finds(&timeline, Cause::ChunkTooSmall, "16-small.txt");

    let timeline = Adjust::options(&device).chunk(LEN / 2).build()?.profile(GAIN, OFFSET, &x, &mut z)?;
    finds(&timeline, Cause::ChunkTooLarge, "16-large.txt");

    let timeline = OneForAll::new(&device)?.profile(GAIN, OFFSET, &x, &mut z)?;
    finds(&timeline, Cause::KernelTooSmall, "16-kernel.txt");

    let (x, mut z) = (samples(LEN), vec![0.0; LEN]);
    let timeline = Adjust::new(&device)?.profile(GAIN, OFFSET, &x, &mut z)?;
    check("16-pageable.txt", &diagnosis(&timeline));
    Ok(())
}
