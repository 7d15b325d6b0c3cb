//! `profile` and `predict`: a timeline of a run, and of one that does not take place.

use std::time::Duration;

use thalweg::__private::Detail;
use thalweg::Timeline;
use thalweg::prelude::*;
use thalweg::timeline::Engine;
use thalweg_tests::kernels::{accumulate, add_to, sum_rows};

stream_pipeline! {
    /// `y <- y + a`.
    pipeline Add {
        param a: f32;
        inout y: [f32];
        chunk c = auto;
        stage load { copy y -> dy; }
        stage add { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dy); }
        stage store { copy dy -> y; }
    }
}

fn halve(h: &mut [f32]) {
    h.iter_mut().for_each(|h| *h /= 2.0);
}

stream_pipeline! {
    /// Operations of every kind.
    pipeline Mixed {
        param a: f32;
        param told: std::sync::mpsc::Sender<usize>;
        input x: [f32];
        resident first: [f32];
        carry total: [i64; 2] = 0;
        input n: [i64];
        output z: [f32];
        output sums: [f32; 1] per chunk;
        host h: [f32];
        chunk c = 1000;
        stream s per slot;
        stage load on s { copy x -> dx; copy n -> dn; }
        stage back on s { copy dx -> h; }
        stage halve on s { host halve(&mut h); copy h -> dy; }
        stage add on s {
            add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dy);
            accumulate<<<1, 1>>>(c.len as u32, &dn, &mut total);
            sum_rows<<<1, 1>>>(1, 1, 1, &first, out dsum);
        }
        stage store on s { copy dy -> z; copy dsum -> sums; then |c| told.send(c.index); }
        device dsum: [f32; 1] per chunk;
    }
}

const LEN: usize = 4 << 20;

fn pinned(device: &Device, len: usize) -> thalweg::Result<PinnedBuf<f32>> {
    PinnedBuf::from_slice(device, &vec![1.0; len])
}

/// Each operation of each chunk once, in the order of its stream, within the run.
fn is_whole(timeline: &Timeline) {
    let (plan, report) = (timeline.plan, &timeline.report);
    assert_eq!(timeline.spans.len(), plan.operations.len() * report.chunks, "{report}");
    let mut seen: Vec<_> = timeline.spans.iter().map(|span| (span.chunk, span.operation)).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), timeline.spans.len(), "{report}");
    for span in &timeline.spans {
        assert!(span.start <= span.end && span.end <= timeline.time(), "{span:?} of {report}");
        assert_eq!(timeline.rows[span.row].stream, plan.operations[span.operation].stream);
    }
    for row in 0..timeline.rows.len() {
        let on_row: Vec<_> = timeline.spans.iter().filter(|span| span.row == row).collect();
        for pair in on_row.windows(2) {
            assert!(pair[0].end <= pair[1].start, "{pair:?}");
            assert!((pair[0].chunk, pair[0].operation) < (pair[1].chunk, pair[1].operation), "{pair:?}");
        }
    }
    for engine in [Engine::ToDevice, Engine::ToHost] {
        let copies: Vec<_> = timeline.spans.iter().filter(|span| span.engine == engine).collect();
        assert!(copies.windows(2).all(|pair| pair[0].end <= pair[1].start), "two copies at once");
    }
}

#[test]
fn a_prediction_is_what_the_simulated_device_then_does() -> thalweg::Result<()> {
    for spec in [Simulation::h200(), Simulation::a100(), Simulation::t4()] {
        let device = Device::simulated(spec);
        for chunk in [None, Some(LEN / 64), Some(LEN / 4), Some(LEN)] {
            let build = || match chunk {
                Some(chunk) => Add::options(&device).chunk(chunk).build(),
                None => Add::new(&device),
            };
            for pageable in [false, true] {
                let (mut memory, mut ordinary) = (pinned(&device, LEN)?, vec![1.0; LEN]);
                let (mut add, mut other) = (build()?, build()?);
                let [predicted, profiled, run] = if pageable {
                    let y = &mut ordinary;
                    [add.predict(1.0, &mut *y)?, add.profile(1.0, &mut *y)?, {
                        let mut timeline = add.predict(1.0, &mut *y)?;
                        timeline.report = other.run(1.0, y)?;
                        timeline
                    }]
                } else {
                    let y = &mut memory;
                    [add.predict(1.0, &mut *y)?, add.profile(1.0, &mut *y)?, {
                        let mut timeline = add.predict(1.0, &mut *y)?;
                        timeline.report = other.run(1.0, y)?;
                        timeline
                    }]
                };
                let seconds = |timeline: &Timeline| timeline.time().as_secs_f64();
                let off = seconds(&predicted) / seconds(&run);
                assert!((0.995..1.005).contains(&off), "{off}: {} {}", predicted.report, run.report);
                assert_eq!(predicted.report.chunks, run.report.chunks);
                assert_eq!(predicted.report.bytes_to_device, run.report.bytes_to_device);
                assert_eq!(predicted.report.bytes_to_host, run.report.bytes_to_host);
                assert_eq!(predicted.report.bytes_staged, run.report.bytes_staged);
                is_whole(&predicted);
                is_whole(&profiled);
                let off = seconds(&profiled) / seconds(&run);
                // With small chunks the run waits for the host, which has more to do in a profile.
                let is_small = chunk == Some(LEN / 64);
                assert!((0.99..if is_small { 1.15 } else { 1.03 }).contains(&off), "{off}: {}", run.report);
                // Both have the same operations, at about the same time.
                let near = predicted.time().mul_f64((off - 1.0).max(0.0) + 0.03);
                for span in &predicted.spans {
                    let same = |other: &&thalweg::timeline::Span| {
                        (other.chunk, other.operation) == (span.chunk, span.operation)
                    };
                    let other = profiled.spans.iter().find(same).expect("it is there");
                    assert!(span.end.abs_diff(other.end) < near, "{span:?} {other:?} {}", run.report);
                    assert_eq!(
                        (span.bytes, span.blocks, span.engine),
                        (other.bytes, other.blocks, other.engine)
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_prediction_changes_nothing_and_a_profile_computes() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (mut add, mut y) = (Add::new(&device)?, vec![1.0; 100_000]);
    let predicted = add.predict(1.0, &mut y)?;
    assert!(predicted.predicted && predicted.report.simulated);
    assert!(y.iter().all(|&y| y == 1.0));
    let profiled = add.profile(1.0, &mut y)?;
    assert!(!profiled.predicted);
    assert!(y.iter().all(|&y| y == 2.0));
    add.run(1.0, &mut y)?;
    assert!(y.iter().all(|&y| y == 3.0));
    Ok(())
}

#[test]
fn something_of_everything() -> thalweg::Result<()> {
    const ITEMS: usize = 2500;
    let device = Device::simulated(Simulation::h200());
    let (x, n, first) = (vec![4.0; ITEMS], vec![1; ITEMS], vec![7.0]);
    let (mut mixed, (told, heard)) = (Mixed::new(&device)?, std::sync::mpsc::channel());
    let (mut total, mut z, mut sums) = ([0; 2], vec![0.0; ITEMS], vec![0.0; 3]);
    let predicted = mixed.predict(1.0, told.clone(), &x, &first, &mut total, &n, &mut z, &mut sums)?;
    assert_eq!((total, z[0], sums[0], heard.try_iter().count()), ([0; 2], 0.0, 0.0, 0));
    is_whole(&predicted);
    let run = mixed.run(1.0, told.clone(), &x, &first, &mut total, &n, &mut z, &mut sums)?;
    assert_eq!(heard.try_iter().count(), 3);
    let profiled = mixed.profile(1.0, told, &x, &first, &mut total, &n, &mut z, &mut sums)?;
    assert!(z.iter().all(|&z| z == 3.0));
    assert_eq!((total[0], heard.try_iter().count()), (ITEMS as i64, 3));
    is_whole(&profiled);
    assert_eq!(predicted.rows.len(), 3);
    for timeline in [&predicted, &profiled] {
        let printed = timeline.to_string();
        assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
        for engine in [Engine::ToDevice, Engine::Compute, Engine::ToHost, Engine::Host] {
            assert!(timeline.busy(engine) > Duration::ZERO, "{engine}");
        }
    }
    let close = predicted.time().as_secs_f64() / run.time.as_secs_f64();
    assert!((0.95..1.05).contains(&close), "{close}");
    Ok(())
}

#[test]
fn nothing_and_little() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut add = Add::new(&device)?;
    for len in [0, 1, 2] {
        let mut y = vec![1.0; len];
        for timeline in [add.predict(1.0, &mut y)?, add.profile(1.0, &mut y)?] {
            is_whole(&timeline);
            assert_eq!(timeline.report.items, len);
            assert!(!timeline.to_string().is_empty());
            assert!(timeline.svg().contains("<svg"));
        }
        assert!(y.iter().all(|&y| y == 2.0));
    }
    Ok(())
}

/// Errors of a run are errors of its prediction too.
#[test]
fn mistakes_are_found_without_a_run() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut mixed = Mixed::new(&device)?;
    let (told, _heard) = std::sync::mpsc::channel();
    let (x, n) = (vec![4.0; 10], vec![1; 11]);
    let mut out = ([0; 2], vec![0.0; 10], vec![0.0; 1]);
    let error = mixed.predict(1.0, told, &x, &[7.0][..], &mut out.0, &n, &mut out.1, &mut out.2).unwrap_err();
    assert!(matches!(error.detail(), Detail::Length { host: "n", .. }), "{error}");
    // Memory that another simulated device has locked is copied like the device's own.
    let mut of_other = pinned(&Device::simulated(Simulation::h200()), 10)?;
    Add::new(&device)?.predict(1.0, &mut of_other)?;
    Ok(())
}

/// Predictions use the kernels' times that a profile has shown.
#[test]
fn predictions_learn_from_profiles() -> thalweg::Result<()> {
    let mut slow = Simulation::h200();
    // The calibration knows the rate at which its kernels read memory, but not the time that they compute.
    slow.model.memory_rate = 20e9;
    let device = Device::simulated(slow);
    let mut y = pinned(&device, LEN)?;
    let mut add = Add::options(&device).chunk(LEN / 8).build()?;
    let before = add.predict(1.0, &mut y)?.time();
    add.profile(1.0, y.slice_mut(..LEN / 2)?)?;
    let after = add.predict(1.0, &mut y)?.time();
    let run = add.run(1.0, &mut y)?.time;
    let off = after.as_secs_f64() / run.as_secs_f64();
    assert!((0.95..1.05).contains(&off), "{before:?} {after:?} {run:?}");
    Ok(())
}

/// A profile's events are kept: one run after another takes no more of them.
#[test]
fn profiles_can_be_made_again_and_again() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut y = pinned(&device, LEN)?;
    let mut add = Add::options(&device).chunk(LEN / 256).build()?;
    let first = add.profile(1.0, &mut y)?;
    for _ in 0..5 {
        let next = add.profile(1.0, &mut y)?;
        assert_eq!(next.spans.len(), first.spans.len());
        is_whole(&next);
    }
    assert!(y.iter().all(|&y| y == 7.0));
    // There are more than the events that were made beforehand.
    let mut add = Add::options(&device).chunk(128).build()?;
    is_whole(&add.profile(1.0, &mut y)?);
    Ok(())
}

/// If a run waits for kernels, their stream notices the ends of copies late; the copies are as long as they
/// are all the same.
#[test]
fn copies_are_not_as_long_as_the_kernels_that_wait_for_them() -> thalweg::Result<()> {
    let mut slow = Simulation::h200();
    slow.model.memory_rate = 10e9;
    let device = Device::simulated(slow);
    let mut y = pinned(&device, LEN)?;
    let mut add = Add::options(&device).chunk(LEN / 16).build()?;
    let predicted = add.predict(1.0, &mut y)?;
    let profiled = add.profile(1.0, &mut y)?;
    is_whole(&profiled);
    assert_eq!(profiled.bottleneck(), Some(Engine::Compute));
    for engine in [Engine::ToDevice, Engine::Compute, Engine::ToHost] {
        let [expected, found] = [&predicted, &profiled].map(|timeline| timeline.busy(engine).as_secs_f64());
        assert!((0.8..1.25).contains(&(found / expected)), "{engine}: {found} for {expected}");
    }
    Ok(())
}
