//! The serial and the concurrent model.

use std::fmt::Write as _;
// ANCHOR: uses
use std::time::Duration;

use thalweg::Timeline;
use thalweg::prelude::*;
use thalweg::timeline::Engine;
// ANCHOR_END: uses

use super::kernel::{GAIN, OFFSET, cuda};
use super::{Us, assert_adjusted, check, samples, simulated};

// ANCHOR: pipeline
stream_pipeline! {
    /// As `Adjust`, with as many blocks as it is told: the fewer, the longer the kernel takes.
    pub pipeline Slow {
        param grid: u32;
        input x: [f32];
        output z: [f32];
        chunk c = auto;
        depth = 3;
        stream up;
        stream math;
        stream down;
        stage load on up { copy x -> v; }
        stage compute on math { cuda::adjust<<<grid, 256>>>(c.len as u32, GAIN, OFFSET, &mut v); }
        stage store on down { copy v -> z; }
    }
}
// ANCHOR_END: pipeline

/// 64 MiB.
const LEN: usize = 16 << 20;

// ANCHOR: predict
/// The prediction of a run in so many chunks.
fn predicted(
    device: &Device,
    data: &mut [PinnedBuf<f32>; 2],
    grid: u32,
    chunks: usize,
) -> thalweg::Result<Timeline> {
    let [x, z] = data;
    let mut slow = Slow::options(device).chunk(LEN / chunks).build()?;
    slow.predict(grid, &*x, z) // copies nothing, computes nothing
}

/// The time of the copy in, the kernel and the copy out, of all data in one chunk.
fn parts(timeline: &Timeline) -> [Duration; 3] {
    [Engine::ToDevice, Engine::Compute, Engine::ToHost].map(|engine| {
        let spans = timeline.spans.iter().filter(|span| span.engine == engine);
        spans.map(|span| span.time()).sum()
    })
}
// ANCHOR_END: predict

// ANCHOR: formula
/// The concurrent model: a chunk goes through all three, and the others follow at the pace of the slowest.
fn model(parts: [Duration; 3], chunks: usize) -> Duration {
    let slowest = parts.into_iter().max().expect("there are three");
    let serial: Duration = parts.into_iter().sum();
    (serial + slowest * (chunks as u32 - 1)) / chunks as u32
}
// ANCHOR_END: formula

fn table(device: &Device, data: &mut [PinnedBuf<f32>; 2], grid: u32) -> thalweg::Result<String> {
    let whole = predicted(device, data, grid, 1)?;
    let parts = parts(&whole);
    let [copy_in, compute, copy_out] = parts.map(Us);
    let mut text = format!("copy in {copy_in}, kernel {compute}, copy out {copy_out}\n");
    writeln!(text, "{:>6} {:>12} {:>12} {:>8}", "chunks", "model", "predicted", "ratio").expect("a string");
    for chunks in [1, 2, 4, 8, 16, 32, 64, 256, 1024] {
        let (model, predicted) = (model(parts, chunks), predicted(device, data, grid, chunks)?.time());
        let ratio = predicted.as_secs_f64() / model.as_secs_f64();
        writeln!(text, "{chunks:>6} {:>12} {:>12} {ratio:>8.3}", Us(model), Us(predicted)).expect("a string");
    }
    Ok(text)
}

#[test]
fn the_model_and_the_prediction() -> thalweg::Result<()> {
    let device = simulated();
    let mut data = [PinnedBuf::zeroed(&device, LEN)?, PinnedBuf::zeroed(&device, LEN)?];
    check("12-even.txt", &table(&device, &mut data, 2)?);
    check("12-compute.txt", &table(&device, &mut data, 1)?);
    check("12-light.txt", &table(&device, &mut data, 132)?);
    Ok(())
}

#[test]
fn the_prediction_is_what_happens() -> thalweg::Result<()> {
    let device = simulated();
    let mut data = [PinnedBuf::from_slice(&device, &samples(LEN))?, PinnedBuf::zeroed(&device, LEN)?];
    let predicted = predicted(&device, &mut data, 2, 16)?.time();
    let [x, z] = &mut data;
    let report = Slow::options(&device).chunk(LEN / 16).build()?.run(2, &*x, &mut *z)?;
    assert_adjusted(z);
    check(
        "12-run.txt",
        &format!("16 chunks, predicted: {}\n16 chunks, run:       {}", Us(predicted), Us(report.time)),
    );
    Ok(())
}
