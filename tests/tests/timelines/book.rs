//! The book's page on timelines: its code, and what it prints on the simulated device. `BLESS=1` writes that
//! anew.

use std::path::Path;

// ANCHOR: uses
use thalweg::Timeline;
use thalweg::timeline::{Cause, Finding};
// ANCHOR_END: uses
use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::book::recorded;

stream_pipeline! {
    /// `y <- a * x + y`, chunk by chunk: the README's program.
    pub pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];

        chunk c = auto;
        depth = 3;

        stream up: high;
        stream math;
        stream down: low;

        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

// ANCHOR: both
/// The prediction of a run, and its profile.
fn both(saxpy: &mut Saxpy, x: &PinnedBuf<f32>, y: &mut PinnedBuf<f32>) -> thalweg::Result<[Timeline; 2]> {
    let predicted = saxpy.predict(2.0, x, &mut *y)?; // computes nothing
    let measured = saxpy.profile(2.0, x, y)?; // a run, and when each operation was
    Ok([predicted, measured])
}
// ANCHOR_END: both

const LEN: usize = 4 << 20;

fn data(device: &Device) -> thalweg::Result<[PinnedBuf<f32>; 2]> {
    let x: Vec<f32> = (0..LEN).map(|i| (i % 1000) as f32).collect();
    Ok([PinnedBuf::from_slice(device, &x)?, PinnedBuf::from_slice(device, &vec![1.0; LEN])?])
}

#[test]
fn a_timeline() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let [x, mut y] = data(&device)?;
    let mut saxpy = Saxpy::options(&device).chunk(LEN / 8).build()?;
    let [predicted, measured] = both(&mut saxpy, &x, &mut y)?;
    assert!(y.iter().zip(x.iter()).all(|(y, x)| *y == 2.0 * x + 1.0));
    recorded("saxpy-timeline.txt", &measured.to_string());
    assert_eq!(predicted.spans.len(), measured.spans.len());
    Ok(())
}

#[test]
fn what_a_run_lost_time_to() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let [x, mut y] = data(&device)?;
    // ANCHOR: findings
    let timeline = Saxpy::options(&device).chunk(8 << 10).build()?.profile(2.0, &x, &mut y)?;
    let findings: Vec<Finding> = timeline.findings();
    for finding in &findings {
        println!("{finding}");
    }
    let is_small = findings.iter().any(|finding| finding.cause == Cause::ChunkTooSmall);
    // ANCHOR_END: findings
    assert!(is_small);
    let printed: Vec<_> = findings.iter().map(ToString::to_string).collect();
    recorded("saxpy-findings.txt", &printed.join("\n"));
    Ok(())
}

#[test]
fn a_comparison() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let [x, mut y] = data(&device)?;
    // ANCHOR: compare
    let predicted = Saxpy::new(&device)?.predict(2.0, &x, &mut y)?;
    let measured = Saxpy::options(&device).chunk(8 << 10).build()?.profile(2.0, &x, &mut y)?;
    let comparison = predicted.compare(&measured);
    println!("{comparison}");
    // ANCHOR_END: compare
    recorded("saxpy-comparison.txt", &comparison.to_string());
    Ok(())
}

// ANCHOR: pictures
fn write(predicted: &Timeline, measured: &Timeline, folder: &Path) -> std::io::Result<()> {
    let both = predicted.svg_with(measured); // one above the other
    std::fs::write(folder.join("saxpy.svg"), both)?;
    std::fs::write(folder.join("saxpy.png"), measured.png())?; // one alone; needs the feature `png`
    std::fs::write(folder.join("saxpy.json"), measured.trace()) // for ui.perfetto.dev
}
// ANCHOR_END: pictures

#[test]
fn pictures() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let [x, mut y] = data(&device)?;
    let mut saxpy = Saxpy::new(&device)?;
    let [predicted, measured] = both(&mut saxpy, &x, &mut y)?;
    let folder = tempfile::tempdir().expect("a folder");
    write(&predicted, &measured, folder.path()).expect("files");
    for name in ["saxpy.svg", "saxpy.png", "saxpy.json"] {
        assert!(std::fs::metadata(folder.path().join(name)).expect("it was written").len() > 1000, "{name}");
    }
    Ok(())
}
