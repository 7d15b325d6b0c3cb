//! Profiles that time some of the chunks, and estimate the times of the others.

use std::time::Duration;

use thalweg::Timeline;
use thalweg::kernel::DeviceSliceMut;
use thalweg::prelude::*;
use thalweg::routine::Enqueue;
use thalweg::timeline::{Engine, Span};
use thalweg_tests::kernels::{add_to, axpy_each};

fn halve(h: &mut [f32]) {
    h.iter_mut().for_each(|h| *h /= 2.0);
}

fn twice(queue: &Enqueue<'_>, y: DeviceSliceMut<'_, f32>) -> thalweg::Result<()> {
    queue.simulate((y,), |(y,)| y.iter_mut().for_each(|y| *y *= 2.0))
}

stream_pipeline! {
    /// `y <- a x + y`.
    pipeline Axpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = auto;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { axpy_each<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    /// The same with a stream for each slot.
    pipeline PerSlot {
        param a: f32;
        inout y: [f32];
        chunk c = auto;
        depth = 4;
        stream s per slot;
        stage load on s { copy y -> dy; }
        stage add on s { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dy); }
        stage store on s { copy dy -> y; }
    }
}

stream_pipeline! {
    /// All operations: a fill, a routine, a function on the CPU, and operations of only some chunks.
    pipeline Everything {
        param a: f32;
        inout y: [f32];
        host h: [f32];
        device t: [f32];
        chunk c = auto;
        stage load { copy y -> dy; }
        stage work {
            fill t = 1.0;
            call twice(&mut dy);
            if c.index % 5 == 4 { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dy); }
            add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut t);
        }
        stage fetch { copy dy -> h; }
        stage halve { host halve(&mut h); }
        stage back { copy h -> dh; }
        stage store { copy dh -> y; }
    }
}

const LEN: usize = 16 << 20;
const CHUNKS: usize = 64;
/// The share of a run's time for timing.
const SHARE: f64 = 0.01;

/// Estimated operations are where they were when everything was timed.
#[track_caller]
fn is_like(sampled: &Timeline, whole: &Timeline) {
    assert!(whole.spans.iter().all(|span| !span.estimated));
    assert_eq!(whole.timed_chunks(), whole.report.chunks);
    let timed = sampled.timed_chunks();
    assert!((2..=whole.report.chunks / 2).contains(&timed), "{timed} of {}", whole.report.chunks);
    assert_eq!(sampled.spans.len(), whole.spans.len());
    // In most chunks an operation may wait for another one than in those that were timed.
    let near = whole.time() / CHUNKS as u32;
    let mut off = Vec::new();
    for span in &whole.spans {
        let same = |other: &&Span| (other.chunk, other.operation) == (span.chunk, span.operation);
        let other = sampled.spans.iter().find(same).expect("it is there");
        assert!(other.enqueued <= other.end && other.start <= other.end && other.end <= sampled.time());
        // Timing everything takes a little longer.
        let scaled = |time: Duration| time.mul_f64(whole.time().as_secs_f64() / sampled.time().as_secs_f64());
        off.push(span.start.abs_diff(scaled(other.start)).max(span.end.abs_diff(scaled(other.end))));
        assert_eq!(
            (span.engine, span.bytes, span.blocks, span.row),
            (other.engine, other.bytes, other.blocks, other.row)
        );
    }
    off.sort();
    let quantile = |share: f64| off[(share * (off.len() - 1) as f64) as usize];
    assert!(
        quantile(0.95) < near && quantile(1.0) < 2 * near,
        "{:?} {:?} {near:?}\n{whole}\n{sampled}",
        quantile(0.95),
        quantile(1.0)
    );
}

/// Each engine is busy for about as long, too.
#[track_caller]
fn is_as_busy(sampled: &Timeline, whole: &Timeline) {
    is_like(sampled, whole);
    // Copies take longer while others go the other way; in a few chunks they do so more or less than in all
    // of them.
    for engine in [Engine::ToDevice, Engine::Compute, Engine::ToHost, Engine::Host] {
        let [expected, found] = [whole, sampled].map(|timeline| timeline.share(engine));
        assert!((expected - found).abs() < 0.15, "{engine}: {found} for {expected}\n{whole}\n{sampled}");
    }
}

fn axpy(device: &Device, share: f64, depth: usize) -> thalweg::Result<Axpy> {
    Axpy::options(device).chunk(LEN / CHUNKS).depth(depth).profile_share(share).build()
}

#[test]
fn estimates_are_where_the_operations_were() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (x, mut y) = (vec![1.0; LEN], vec![2.0; LEN]);
    let (pinned, mut out) = (PinnedBuf::from_slice(&device, &x)?, PinnedBuf::from_slice(&device, &y)?);
    for depth in [1, 2, 3, 8] {
        let (mut some, mut all) = (axpy(&device, SHARE, depth)?, axpy(&device, 1.0, depth)?);
        is_as_busy(&some.profile(1.0, &x, &mut y)?, &all.profile(1.0, &x, &mut y)?);
        is_as_busy(&some.profile(1.0, &pinned, &mut out)?, &all.profile(1.0, &pinned, &mut out)?);
    }
    assert!(y.iter().all(|y| *y == 10.0) && out.iter().all(|y| *y == 10.0));
    let per_slot = |share| PerSlot::options(&device).chunk(LEN / CHUNKS).profile_share(share).build();
    let (mut some, mut all) = (per_slot(SHARE)?, per_slot(1.0)?);
    is_as_busy(&some.profile(1.0, &mut y)?, &all.profile(1.0, &mut y)?);
    is_as_busy(&some.profile(1.0, &mut out)?, &all.profile(1.0, &mut out)?);
    Ok(())
}

#[test]
fn whatever_the_operations_are() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut y = vec![2.0; LEN];
    let pipeline = |share| Everything::options(&device).chunk(LEN / CHUNKS).profile_share(share).build();
    let (mut some, mut all) = (pipeline(SHARE)?, pipeline(1.0)?);
    is_like(&some.profile(1.0, &mut y)?, &all.profile(1.0, &mut y)?);
    Ok(())
}

/// The time is that of a run in which nothing is timed.
#[test]
fn a_profile_waits_for_what_a_run_waits_for() -> thalweg::Result<()> {
    for seed in 0..200 {
        let device = Device::simulated(Simulation::h200().adversarial(seed));
        let mut y: Vec<_> = (0..3000).map(|y| y as f32).collect();
        let mut pipeline = Everything::options(&device).chunk(100).profile_share(0.0).build()?;
        let timeline = pipeline.profile(1.0, &mut y)?;
        assert!(timeline.timed_chunks() < 30);
        let expected = |index: usize| index as f32 + if index / 100 % 5 == 4 { 0.5 } else { 0.0 };
        assert!(y.iter().enumerate().all(|(index, y)| *y == expected(index)), "{seed}");
    }
    Ok(())
}

/// Pageable memory, one chunk at a time or small chunks: on a simulated device nobody waits for the host's
/// events.
#[test]
fn a_simulated_device_times_everything() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (x, mut y) = (vec![1.0; LEN], vec![2.0; LEN]);
    let timeline = Axpy::options(&device).chunk(LEN / 256).depth(1).build()?.profile(1.0, &x, &mut y)?;
    assert_eq!(timeline.timed_chunks(), 256);
    assert!(!timeline.to_string().contains("estimated"));
    Ok(())
}

#[test]
fn it_says_what_was_not_timed() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (x, mut y) = (vec![1.0; LEN], vec![2.0; LEN]);
    let timeline = axpy(&device, 0.0, 3)?.profile(1.0, &x, &mut y)?;
    assert_eq!(timeline.timed_chunks(), 6);
    let text = timeline.to_string();
    assert!(text.contains("6 chunks timed and the others estimated"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let mut trace = Vec::new();
    timeline.write_trace(&mut trace).expect("memory takes it");
    let trace: serde_json::Value = serde_json::from_slice(&trace).expect("it is JSON");
    let events = trace["traceEvents"].as_array().expect("a list");
    let estimated = events.iter().filter(|event| event["args"]["estimated"] == true).count();
    assert_eq!(estimated, 4 * (CHUNKS - 6));
    assert!(timeline.svg().contains("estimated: other chunks were timed"));
    // Nothing of a prediction is timed, so nothing of it is estimated.
    assert!(axpy(&device, 0.0, 3)?.predict(1.0, &x, &mut y)?.spans.iter().all(|span| !span.estimated));
    Ok(())
}

/// The next profile uses the events of operations that are over.
#[test]
fn any_share_is_one() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (x, mut y) = (vec![1.0; 1000], vec![2.0; 1000]);
    for (share, timed) in [(f64::NAN, 10), (f64::INFINITY, 10), (2.0, 10), (-1.0, 6), (f64::NEG_INFINITY, 6)]
    {
        let mut axpy = Axpy::options(&device).chunk(100).depth(3).profile_share(share).build()?;
        assert_eq!(axpy.profile(1.0, &x, &mut y)?.timed_chunks(), timed, "{share}");
        assert!(axpy.profile(1.0, &[], &mut [])?.time() >= Duration::ZERO);
    }
    Ok(())
}
