//! Findings name what keeps a pipeline from its limit: each of these is slow for one reason.

use std::time::Duration;

use thalweg::Timeline;
use thalweg::prelude::*;
use thalweg::timeline::Cause;
use thalweg_tests::kernels::{accumulate, add_to, axpy_each, double_all, weigh};

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

#[kernels("../../cu/step.cu")]
unsafe extern "CUDA" {
    /// `z[i]` is `x[i]` after so many steps, for `i < n`, with any grid. `n` is a multiple of 4.
    #[host(step_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= z.len())]
    #[requires(n.is_multiple_of(4))]
    safe fn step4(n: u32, iterations: u32, x: &[f32], z: Out<[f32]>);
}

fn step_on_host(_: Grid, n: u32, iterations: u32, x: &[f32], z: &mut [f32]) {
    let n = n as usize;
    for (z, &x) in z[..n].iter_mut().zip(&x[..n]) {
        *z = (0..iterations).fold(x, |v, _| v.mul_add(0.999, 0.001));
    }
}

stream_pipeline! {
    /// One block for all of a chunk.
    pipeline OneBlock {
        input x: [f32];
        output z: [f32];
        device dz: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage step { step4<<<1, 256>>>(c.len as u32, 1, &dx, out dz); }
        stage store { copy dz -> z; }
    }
}

stream_pipeline! {
    #[allow(deprecated, reason = "it is what is to be found")]
    pipeline OnTheNullStream {
        inout y: [f32];
        chunk c = auto;
        depth = 3;
        stream s = null;
        stage load on s { copy y -> dy; }
        stage double on s { double_all<<<blocks(c.len, 256), 256>>>(1, &mut dy); }
        stage store on s { copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline OnOneStream {
        inout y: [f32];
        chunk c = auto;
        depth = 3;
        stream s;
        stage load on s { copy y -> dy; }
        stage double on s { double_all<<<blocks(c.len, 256), 256>>>(1, &mut dy); }
        stage store on s { copy dy -> y; }
    }
}

stream_pipeline! {
    /// A first version, with everything in one stage that has a stream.
    pipeline InOneStage {
        inout y: [f32];
        chunk c = auto;
        depth = 3;
        stage all { copy y -> dy; double_all<<<blocks(c.len, 256), 256>>>(1, &mut dy); copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline InTwoStages {
        inout y: [f32];
        chunk c = auto;
        depth = 3;
        stream s;
        stage work on s { copy y -> dy; double_all<<<blocks(c.len, 256), 256>>>(1, &mut dy); }
        stage store on s { copy dy -> y; }
    }
}

fn halve(h: &mut [f32]) {
    h.iter_mut().for_each(|h| *h /= 2.0);
}

stream_pipeline! {
    /// The CPU has a part in each chunk.
    pipeline ThroughTheCpu {
        inout y: [f32];
        host h: [f32];
        chunk c = auto;
        stage load { copy y -> dy; }
        stage fetch { copy dy -> h; }
        stage halve { host halve(&mut h); }
        stage back { copy h -> dh; }
        stage store { copy dh -> y; }
    }
}

stream_pipeline! {
    /// Each chunk adds to the result of the one before.
    pipeline Total {
        input x: [i64];
        carry total: [i64; 2] = 0;
        chunk c = auto;
        stream s per slot;
        stage load on s { copy x -> dx; }
        stage sum on s { accumulate<<<132, 1>>>(c.len as u32, &dx, &mut total); }
    }
}

const LEN: usize = 16 << 20;

/// The costliest finding, and all findings.
fn first_of(timeline: &Timeline) -> Cause {
    let findings = timeline.findings();
    findings.iter().for_each(|finding| println!("  {finding}"));
    let first = findings.first().unwrap_or_else(|| panic!("nothing is found: {}", timeline.report));
    let printed: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert!(
        printed.iter().flat_map(|text| text.lines()).all(|line| line.chars().count() <= 80),
        "{printed:?}"
    );
    let total: f64 = findings.iter().map(|finding| finding.lost.as_secs_f64()).sum();
    assert!(total <= timeline.time().as_secs_f64(), "more was lost than there is");
    first.cause
}

fn pinned(device: &Device) -> thalweg::Result<PinnedBuf<f32>> {
    PinnedBuf::from_slice(device, &vec![1.0; LEN])
}

/// Both a profile and a prediction find it.
fn finds(cause: Cause, mut timeline: impl FnMut(bool) -> thalweg::Result<Timeline>) -> thalweg::Result<()> {
    println!("{}:", cause.name());
    assert_eq!(first_of(&timeline(false)?), cause);
    assert_eq!(first_of(&timeline(true)?), cause);
    Ok(())
}

macro_rules! either {
    ($pipeline:ident, $($argument:expr),*) => {
        |predicts| if predicts { $pipeline.predict($($argument),*) } else { $pipeline.profile($($argument),*) }
    };
}

#[test]
fn pageable_source() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (mut add, mut y) = (Add::new(&device)?, vec![1.0; LEN]);
    finds(Cause::PageableSource, either!(add, 1.0, &mut y))
}

#[test]
fn too_few_copy_threads() -> thalweg::Result<()> {
    let mut spec = Simulation::h200();
    spec.model.host_memcpy = 2.0 * spec.model.thread_memcpy;
    let device = Device::simulated(spec);
    let (mut add, mut y) = (Add::new(&device)?, vec![1.0; LEN]);
    finds(Cause::TooFewCopyThreads, either!(add, 1.0, &mut y))
}

#[test]
fn link_contention() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::a100());
    let (mut add, mut y) = (Add::new(&device)?, pinned(&device)?);
    finds(Cause::LinkContention, either!(add, 1.0, &mut y))
}

#[test]
fn chunk_too_small() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (mut add, mut y) = (Add::options(&device).chunk(4 << 10).build()?, pinned(&device)?);
    finds(Cause::ChunkTooSmall, either!(add, 1.0, &mut y))
}

#[test]
fn chunk_too_large() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (mut add, mut y) = (Add::options(&device).chunk(LEN / 2).build()?, pinned(&device)?);
    finds(Cause::ChunkTooLarge, either!(add, 1.0, &mut y))
}

#[test]
fn kernel_too_small() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (mut step, x, mut z) = (OneBlock::new(&device)?, pinned(&device)?, pinned(&device)?);
    finds(Cause::KernelTooSmall, either!(step, &x, &mut z))
}

#[test]
fn null_stream() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (mut double, mut y) = (OnTheNullStream::new(&device)?, pinned(&device)?);
    finds(Cause::NullStream, either!(double, &mut y))
}

#[test]
fn one_stream() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (mut double, mut y) = (OnOneStream::new(&device)?, pinned(&device)?);
    finds(Cause::OneStream, either!(double, &mut y))
}

/// Operations on one stream without an `on` are in one stage.
#[test]
fn the_advice_is_for_what_is_written() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut y = pinned(&device)?;
    let advice = |timeline: Timeline| {
        let found = timeline.findings();
        let found = found.into_iter().find(|finding| finding.cause == Cause::OneStream);
        let found = found.expect("one stream has all");
        (found.note, found.help)
    };
    let split =
        |stage| format!("split `{stage}`: a stage for what goes in, for kernels and for what comes out");
    let each_its_own = "give each its own, or leave `on` out";

    let (note, help) = advice(InOneStage::new(&device)?.predict(&mut y)?);
    assert_eq!(note, "`all` has operations that could overlap");
    assert_eq!(help, split("all"));
    let (note, help) = advice(OnOneStream::new(&device)?.predict(&mut y)?);
    assert_eq!(note, "stages that could overlap are on one stream");
    assert_eq!(help, each_its_own);
    let (note, help) = advice(InTwoStages::new(&device)?.predict(&mut y)?);
    assert_eq!(note, "stages that could overlap are on one stream, and parts of `work` too");
    assert_eq!(help, format!("{}; {each_its_own}", split("work")));
    Ok(())
}

#[test]
fn host_function() -> thalweg::Result<()> {
    let mut spec = Simulation::h200();
    spec.model.host_memcpy = 20e9;
    let device = Device::simulated(spec);
    let (mut through, mut y) = (ThroughTheCpu::new(&device)?, pinned(&device)?);
    finds(Cause::HostFunction, either!(through, &mut y))
}

#[test]
fn depth_too_small() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (mut add, mut y) = (Add::options(&device).chunk(1 << 20).depth(1).build()?, pinned(&device)?);
    finds(Cause::DepthTooSmall, either!(add, 1.0, &mut y))
}

/// All chunks behave like those that were timed.
#[test]
fn a_few_timed_chunks_are_enough() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut spec = Simulation::h200();
    spec.model.host_memcpy = 20e9;
    let slow = Device::simulated(spec);
    let mut on_slow = pinned(&slow)?;
    let (mut y, mut z, mut ordinary) = (pinned(&device)?, pinned(&device)?, vec![1.0; LEN]);
    let check =
        |cause: Cause, timeline: &mut dyn FnMut(f64) -> thalweg::Result<Timeline>| -> thalweg::Result<()> {
            for share in [1.0, 0.02, 0.0] {
                let timeline = timeline(share)?;
                println!("{} of {} chunks:", timeline.timed_chunks(), timeline.report.chunks);
                assert_eq!(timeline.timed_chunks() == timeline.report.chunks, share == 1.0);
                assert_eq!(first_of(&timeline), cause, "{share}");
            }
            Ok(())
        };
    macro_rules! profile {
        ($pipeline:ident, $device:expr, $chunk:expr, $depth:expr, $($argument:expr),*) => {
            &mut |share| {
                let options = $pipeline::options(&$device).chunk($chunk).depth($depth);
                options.profile_share(share).build()?.profile($($argument),*)
            }
        };
    }
    check(Cause::PageableSource, profile!(Add, device, LEN / 64, 3, 1.0, &mut ordinary))?;
    check(Cause::DepthTooSmall, profile!(Add, device, LEN / 64, 1, 1.0, &mut y))?;
    check(Cause::ChunkTooSmall, profile!(Add, device, 4 << 10, 3, 1.0, &mut y))?;
    check(Cause::NullStream, profile!(OnTheNullStream, device, LEN / 64, 3, &mut y))?;
    check(Cause::OneStream, profile!(OnOneStream, device, LEN / 64, 3, &mut y))?;
    check(Cause::HostFunction, profile!(ThroughTheCpu, slow, LEN / 64, 3, &mut on_slow))?;
    check(Cause::KernelTooSmall, profile!(OneBlock, device, LEN / 64, 3, &y, &mut z))
}

#[test]
fn chunks_that_wait_for_each_other() -> thalweg::Result<()> {
    let mut spec = Simulation::h200();
    // Each stage hands on over an event, which takes that long here.
    spec.model.event_latency = Duration::from_millis(1);
    let device = Device::simulated(spec);
    let x = PinnedBuf::from_slice(&device, &vec![1_i64; LEN / 4])?;
    let (mut sum, mut total) = (Total::new(&device)?, [0; 2]);
    println!("{}:", Cause::Carry.name());
    // In a measurement the wait is part of the operation after it: no event can separate them.
    assert_eq!(first_of(&sum.predict(&x, &mut total)?), Cause::Carry);
    Ok(())
}

#[test]
fn what_is_as_good_as_it_can_be_has_no_finding_but_the_link() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (mut add, mut y) = (Add::new(&device)?, PinnedBuf::from_slice(&device, &vec![1.0; 8 * LEN])?);
    let findings = add.profile(1.0, &mut y)?.findings();
    assert!(findings.iter().all(|finding| finding.cause == Cause::LinkContention), "{findings:?}");
    Ok(())
}

#[test]
fn a_run_of_nothing_has_none() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut add = Add::new(&device)?;
    assert_eq!(add.profile(1.0, &mut [][..])?.findings(), []);
    assert_eq!(add.predict(1.0, &mut [][..])?.findings(), []);
    Ok(())
}

/// A gap between a good pipeline and a bad one is named too.
#[test]
fn a_gap_has_a_cause() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut y = pinned(&device)?;
    let good = Add::new(&device)?.predict(1.0, &mut y)?;
    let bad = Add::options(&device).chunk(4 << 10).build()?.profile(1.0, &mut y)?;
    let comparison = good.compare(&bad);
    println!("{comparison}");
    assert_eq!(comparison.causes[0].0, Cause::ChunkTooSmall);
    assert!(comparison.ratio() > 2.0);
    let printed = comparison.to_string();
    assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
    let same = good.compare(&Add::new(&device)?.profile(1.0, &mut y)?);
    assert!((0.97..1.03).contains(&same.ratio()) && same.causes.is_empty(), "{same}");
    Ok(())
}

stream_pipeline! {
    /// Data for the whole run, beside the data in chunks.
    pipeline AddFirst {
        resident first: [f32];
        inout y: [f32];
        chunk c = auto;
        stage load { copy y -> dy; }
        stage add { axpy_each<<<blocks(c.len, 256), 256>>>(1, 1.0, &first, &mut dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    /// At both ends, the halo is made up.
    pipeline Near {
        input x: [f32] halo 1 = clamp;
        output z: [f32];
        device dz: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage near { weigh<<<blocks(c.len, 256), 256>>>(c.len as u32, 1, &dx, out dz); }
        stage store { copy dz -> z; }
    }
}

/// A little staging hides nothing: the chunks wait neither for what the whole run shares nor for a halo.
#[test]
fn chunks_are_too_small_whatever_else_is_staged() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (mut y, first) = (pinned(&device)?, vec![1.0; 4]);
    let mut add = AddFirst::options(&device).chunk(4 << 10).build()?;
    finds(Cause::ChunkTooSmall, either!(add, &first, &mut y))?;
    let mut near = Near::options(&device).chunk(4 << 10).build()?;
    let (x, mut z) =
        (PinnedBuf::from_slice(&device, &vec![1.0; 4 << 20])?, PinnedBuf::zeroed(&device, 4 << 20)?);
    finds(Cause::ChunkTooSmall, either!(near, &x, &mut z))
}

stream_pipeline! {
    pipeline Steps {
        input x: [f32];
        output z: [f32];
        device dz: [f32];
        chunk c = auto;
        stage load { copy x -> dx; }
        stage step { step4<<<blocks(c.len, 256), 256>>>(c.len as u32, 1, &dx, out dz); }
        stage store { copy dz -> z; }
    }
}

/// Page-locked memory is not called pageable.
#[test]
fn only_what_is_staged_is_named() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (x, mut z) = (pinned(&device)?, vec![1.0; LEN]);
    let mut step = Steps::new(&device)?;
    for timeline in [step.predict(&x, &mut z)?, step.profile(&x, &mut z)?] {
        let findings = timeline.findings();
        let staged = findings.iter().find(|finding| finding.cause == Cause::PageableSource);
        let staged = staged.unwrap_or_else(|| panic!("{findings:?}"));
        assert!(staged.note.starts_with("`z` is in ordinary memory"), "{staged}");
        let is_staged = |span: &thalweg::timeline::Span| span.staged;
        assert!(
            timeline
                .spans
                .iter()
                .all(|span| is_staged(span) == (span.engine == thalweg::timeline::Engine::ToHost))
        );
    }
    Ok(())
}

/// The first chunk waits for large data that the run shares.
#[test]
fn what_the_run_shares_is_staged_too() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let (mut y, first) = (PinnedBuf::from_slice(&device, &vec![1.0; 1 << 16])?, vec![1.0; LEN]);
    let mut add = AddFirst::new(&device)?;
    for timeline in [add.predict(&first, &mut y)?, add.profile(&first, &mut y)?] {
        assert_eq!(first_of(&timeline), Cause::PageableSource);
        let finding = &timeline.findings()[0];
        assert!(finding.note.starts_with("what the run shares is in ordinary memory"), "{finding}");
    }
    Ok(())
}

/// There is no advice about what the runtime already chooses.
#[test]
fn help_says_what_could_be_done() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut y = pinned(&device)?;
    let help = |timeline: &Timeline, cause: Cause| {
        let findings = timeline.findings();
        let found = findings.iter().find(|finding| finding.cause == cause);
        found.unwrap_or_else(|| panic!("{findings:?}")).help.clone()
    };
    let chosen = Add::options(&device).chunk(1 << 20).depth(1).build()?.predict(1.0, &mut y)?;
    assert_eq!(help(&chosen, Cause::DepthTooSmall), "`depth = 3`, or leave it out");
    let small = Add::options(&device).chunk(4 << 10).build()?.predict(1.0, &mut y)?;
    assert_eq!(help(&small, Cause::ChunkTooSmall), "`chunk = auto`, larger chunks, or `mode = graph`");
    let small = Add::options(&device).chunk(1 << 10).graph().build()?.profile(1.0, &mut y)?;
    assert_eq!(help(&small, Cause::ChunkTooSmall), "`chunk = auto`, or larger chunks");
    // There is room for one slot only.
    let mut double = Limited::new(&device)?;
    let left_out = double.predict(&mut y)?;
    assert_eq!(left_out.report.depth, 1, "{}", left_out.report);
    assert_eq!(help(&left_out, Cause::DepthTooSmall), "smaller chunks, or a larger `budget`");
    Ok(())
}

/// The size of a chunk is not a finding if it was left to the runtime, or if something else explains the
/// time.
#[test]
fn a_chunk_is_not_to_blame_for_everything() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let of_the_chunk = |timeline: &Timeline| {
        let causes = timeline.findings().into_iter().map(|finding| finding.cause);
        causes
            .filter(|cause| matches!(cause, Cause::ChunkTooLarge | Cause::ChunkTooSmall))
            .collect::<Vec<_>>()
    };
    let mut short = PinnedBuf::from_slice(&device, &vec![1.0; 1 << 18])?;
    // Of the runtime's own choices only those are mentioned that can be changed.
    let auto = Add::new(&device)?.predict(1.0, &mut short)?.findings();
    assert!(
        auto.iter().all(|finding| !finding.help.is_empty() && !finding.help.contains("chunk")),
        "{auto:?}"
    );
    let in_graphs = Add::options(&device).graph().build()?.predict(1.0, &mut short)?;
    assert_eq!(of_the_chunk(&in_graphs), []);
    let given = Add::options(&device).chunk(1 << 17).build()?.predict(1.0, &mut short)?;
    assert_eq!(of_the_chunk(&given), [Cause::ChunkTooLarge]);
    let mut y = PinnedBuf::from_slice(&device, &vec![1.0; 4 << 20])?;
    let shallow = Add::options(&device).chunk(1 << 19).depth(1).build()?.predict(1.0, &mut y)?;
    assert_eq!(first_of(&shallow), Cause::DepthTooSmall);
    assert_eq!(of_the_chunk(&shallow), []);
    let in_turn = OnOneStream::options(&device).chunk(1 << 19).build()?.predict(&mut y)?;
    assert_eq!(first_of(&in_turn), Cause::OneStream);
    assert_eq!(of_the_chunk(&in_turn), []);
    Ok(())
}

stream_pipeline! {
    /// Two numbers for each chunk.
    pipeline Partial {
        input x: [f32];
        output sums: [f32; 4] per chunk;
        device d_sums: [f32; 4] per chunk;
        chunk c = auto;
        stage load { copy x -> dx; }
        stage sum { step4<<<1, 256>>>(4, 1, &dx, out d_sums); }
        stage store { copy d_sums -> sums; }
    }
}

/// Data of a source are in no pageable memory of the caller's, and a run does not wait for a few bytes.
#[test]
fn sources_and_sinks_are_no_pageable_memory() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let causes = |timeline: &Timeline| -> Vec<_> {
        timeline.findings().into_iter().map(|finding| finding.cause).collect()
    };
    let (x, mut sums) = (PinnedBuf::from_slice(&device, &vec![1.0; 4 << 20])?, Vec::new());
    let mut partial = Partial::options(&device).chunk(1 << 14).build()?;
    let few = partial.profile(&x, sink::extend(&mut sums))?;
    assert!(!causes(&few).contains(&Cause::PageableSource), "{few}");
    let mut kept = vec![0.0; 4 << 8];
    let few = partial.profile(&x, &mut kept)?;
    assert!(!causes(&few).contains(&Cause::PageableSource), "{few}");

    let mut spec = Simulation::h200();
    spec.model.host_memcpy = 20e9;
    let device = Device::simulated(spec);
    let mut z = PinnedBuf::zeroed(&device, LEN)?;
    let given = source::iter((0..LEN).map(|i| i as f32));
    let streamed = Steps::new(&device)?.predict(given, &mut z)?;
    let findings = streamed.findings();
    assert!(!causes(&streamed).contains(&Cause::PageableSource), "{findings:?}");
    assert_eq!(first_of(&streamed), Cause::SourceOrSink);
    assert_eq!(findings[0].note, "`x` is streamed: the CPU reads or writes each chunk");
    Ok(())
}

stream_pipeline! {
    /// The budget leaves room for one slot.
    pipeline Limited {
        inout y: [f32];
        chunk c = 1 << 20;
        budget = 6 << 20;
        stage load { copy y -> dy; }
        stage double { double_all<<<blocks(c.len, 256), 256>>>(1, &mut dy); }
        stage store { copy dy -> y; }
    }
}

/// A prediction derives a kernel's time from its bytes until a profile has shown it; a measurement never
/// does.
#[test]
fn by_its_bytes_is_said_of_what_is() -> thalweg::Result<()> {
    let mut spec = Simulation::h200();
    spec.model.launch_latency = Duration::from_micros(500);
    let device = Device::simulated(spec);
    let mut y = pinned(&device)?;
    let mut add = Add::options(&device).chunk(LEN / 8).build()?;
    let guessed = add.predict(1.0, &mut y)?;
    let measured = add.profile(1.0, &mut y)?;
    let learnt = add.predict(1.0, &mut y)?;
    // Another device takes another time.
    let mut quick = measured.clone();
    quick.spans.iter_mut().filter(|span| span.engine == thalweg::timeline::Engine::Compute).for_each(
        |span| {
            span.end = span.start + span.time() / 2;
        },
    );
    let says = |one: &Timeline, other: &Timeline| one.compare(other).to_string().contains("by its bytes");
    assert!(says(&guessed, &quick), "{}", guessed.compare(&quick));
    assert!(says(&quick, &guessed), "{}", quick.compare(&guessed));
    assert!(!says(&learnt, &quick), "{}", learnt.compare(&quick));
    assert!(!says(&quick, &learnt), "{}", quick.compare(&learnt));
    assert!(!says(&measured, &quick), "{}", measured.compare(&quick));
    Ok(())
}

/// The same mistakes on a GPU, as far as they can be made there.
#[test]
#[ignore = "needs a CUDA device"]
fn on_a_gpu() -> thalweg::Result<()> {
    const LEN: usize = 64 << 20;
    let device = Device::cuda(0)?;
    let values: Vec<f32> = (0..LEN).map(|i| (i * 31 % 1024) as f32).collect();
    let mut y = PinnedBuf::from_slice(&device, &values)?;
    let mut missed = Vec::new();
    // The first run allocates, the second has chosen streams, the third is profiled.
    let mut check =
        |cause: Cause, timeline: &mut dyn FnMut() -> thalweg::Result<Timeline>| -> thalweg::Result<()> {
            timeline()?;
            timeline()?;
            let timeline = timeline()?;
            println!("{}: {:.3} ms", cause.name(), timeline.time().as_secs_f64() * 1e3);
            let found = timeline.findings();
            found.iter().for_each(|finding| println!("  {finding}"));
            if found.first().is_none_or(|first| first.cause != cause) {
                missed.push(cause);
            }
            Ok(())
        };
    let mut add = Add::options(&device).chunk(16 << 10).build()?;
    check(Cause::ChunkTooSmall, &mut || add.profile(1.0, &mut y))?;
    let mut add = Add::options(&device).chunk(LEN / 2).build()?;
    check(Cause::ChunkTooLarge, &mut || add.profile(1.0, &mut y))?;
    let mut add = Add::options(&device).chunk(1 << 20).depth(1).build()?;
    check(Cause::DepthTooSmall, &mut || add.profile(1.0, &mut y))?;
    let mut add = Add::options(&device).chunk(1 << 20).build()?;
    check(Cause::LinkContention, &mut || add.profile(1.0, &mut y))?;
    let mut double = OnTheNullStream::new(&device)?;
    check(Cause::NullStream, &mut || double.profile(&mut y))?;
    let mut double = OnOneStream::new(&device)?;
    check(Cause::OneStream, &mut || double.profile(&mut y))?;
    let mut through = ThroughTheCpu::new(&device)?;
    check(Cause::HostFunction, &mut || through.profile(&mut y))?;
    let (mut step, mut z) = (OneBlock::new(&device)?, PinnedBuf::zeroed(&device, LEN)?);
    check(Cause::KernelTooSmall, &mut || step.profile(&y, &mut z))?;
    let stepped = |x: f32| x.mul_add(0.999, 0.001).to_bits();
    assert!(y.iter().zip(z.iter()).all(|(&x, z)| stepped(x) == z.to_bits()));
    // On two cores (the process may be given no more) the threads limit the run; with many cores the link is
    // nearly full.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores <= 4 {
        let (mut add, mut ordinary) = (Add::new(&device)?, values);
        check(Cause::TooFewCopyThreads, &mut || add.profile(1.0, &mut ordinary))?;
    }
    assert_eq!(missed, [], "not found first");
    Ok(())
}
