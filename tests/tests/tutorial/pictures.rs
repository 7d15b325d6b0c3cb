//! The tutorial's pictures of runs on a GPU, one above the other where two are compared.
//!
//! `THALWEG_PICTURES=book/src/tutorial cargo test -p thalweg-tests --test tutorial -- --ignored pictures`
//! draws them anew; if no folder is named, they go to the build's temporary one.

use std::path::{Path, PathBuf};

use thalweg::Timeline;
use thalweg::prelude::*;

use super::c07_as_a_pipeline::Adjust;
use super::c10_concurrent_kernels::{OneForAll, PerSlot};
use super::c12_models::Slow;
use super::kernel::{GAIN, OFFSET};
use super::{LEN, assert_adjusted, pinned_samples, samples};

/// The run with the median time of nine, after a first run that loads kernels and touches memory.
fn warm(mut profile: impl FnMut() -> thalweg::Result<Timeline>) -> thalweg::Result<Timeline> {
    profile()?;
    let mut runs = (0..9).map(|_| profile()).collect::<thalweg::Result<Vec<_>>>()?;
    runs.sort_by_key(Timeline::time);
    Ok(runs.swap_remove(4))
}

fn draw(name: &str, svg: &str) {
    let folder = std::env::var_os("THALWEG_PICTURES").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")));
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(name), svg))
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
}

/// Checks that the first of two runs was the faster one, so that the picture shows what its chapter says.
fn drawn(name: &str, quick: &Timeline, slow: &Timeline) {
    let [quick_time, slow_time] = [quick, slow].map(|timeline| timeline.time());
    println!("{name}: {quick_time:?} and {slow_time:?}");
    draw(name, &quick.svg_with(slow));
    assert!(quick_time < slow_time, "{name}: {quick_time:?} and {slow_time:?}");
}

#[test]
#[ignore = "needs a CUDA device"]
fn of_a_gpu() -> thalweg::Result<()> {
    let device = Device::cuda(0)?;
    let (x, mut z) = (pinned_samples(&device)?, PinnedBuf::zeroed(&device, LEN)?);

    let mut adjust = Adjust::new(&device)?;
    let three_slots = warm(|| adjust.profile(GAIN, OFFSET, &x, &mut z))?;
    assert_adjusted(&z);
    println!("pipeline-h200.svg: {:?}", three_slots.time());
    draw("pipeline-h200.svg", &three_slots.svg());

    z.fill(0.0);
    let mut adjust = Adjust::options(&device).depth(1).build()?;
    let one_slot = warm(|| adjust.profile(GAIN, OFFSET, &x, &mut z))?;
    assert_adjusted(&z);
    drawn("depth-h200.svg", &three_slots, &one_slot);

    z.fill(0.0);
    let mut per_slot = PerSlot::new(&device)?;
    let per_slot = warm(|| per_slot.profile(GAIN, OFFSET, &x, &mut z))?;
    assert_adjusted(&z);
    z.fill(0.0);
    let mut one_for_all = OneForAll::new(&device)?;
    let one_for_all = warm(|| one_for_all.profile(GAIN, OFFSET, &x, &mut z))?;
    assert_adjusted(&z);
    drawn("kernels-h200.svg", &per_slot, &one_for_all);

    let ordinary = samples(LEN);
    let mut back = vec![0.0; LEN];
    let mut adjust = Adjust::options(&device).profile_share(1.0).build()?;
    let pageable = warm(|| adjust.profile(GAIN, OFFSET, &ordinary, &mut back))?;
    assert_adjusted(&back);
    drawn("pageable-h200.svg", &three_slots, &pageable);

    // There are so few blocks that the kernel takes about as long as a copy.
    const GRID: u32 = 16;
    let profile = |chunks: usize, z: &mut PinnedBuf<f32>| {
        let mut slow = Slow::options(&device).chunk(LEN / chunks).build()?;
        warm(|| slow.profile(GRID, &x, &mut *z))
    };
    let (concurrent, serial) = (profile(8, &mut z)?, profile(1, &mut z)?);
    assert_adjusted(&z);
    drawn("models-h200.svg", &concurrent, &serial);
    Ok(())
}

/// Each picture has both colours, for a light page and a dark one, and is of a run on that GPU.
#[test]
fn are_light_and_dark() {
    for name in ["pipeline", "depth", "kernels", "pageable", "models"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/tutorial");
        let svg = std::fs::read_to_string(folder.join(format!("{name}-h200.svg"))).expect("the picture");
        assert!(svg.contains("@media(prefers-color-scheme:dark)"), "{name}");
        assert!(svg.contains("on NVIDIA H200, measured"), "{name}");
    }
}
