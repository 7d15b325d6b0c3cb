//! `predict` and `profile` of graphs, of data that a run shares, and of all other runs that are not plain
//! runs on streams.

use std::time::Duration;

use thalweg::Timeline;
use thalweg::prelude::*;
use thalweg::sim::{DriverCall, Effect, Fault};
use thalweg::timeline::Span;
use thalweg_tests::kernels::{accumulate, add_to, count_up};

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
    /// Begins with a fill.
    pipeline Filled {
        input x: [i64];
        carry total: [i64; 1 << 20] = 0;
        chunk c = auto;
        stage load { copy x -> dx; }
        stage sum { accumulate<<<132, 1>>>(c.len as u32, &dx, &mut total); }
    }
}

stream_pipeline! {
    /// A stream for each of many slots.
    pipeline PerSlot {
        param a: f32;
        inout y: [f32];
        chunk c = auto;
        depth = 8;
        stream s per slot;
        stage load on s { copy y -> dy; }
        stage add on s { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dy); }
        stage store on s { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Kernels work on the host's memory, one on twice as many bytes as the other.
    pipeline InPlace {
        param a: f32;
        inout y: mapped [f32];
        output z: mapped [u64];
        chunk c = auto;
        depth = 4;
        stream s per slot;
        stage both on s {
            add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut y);
            count_up<<<blocks(c.len, 256), 256>>>(c.len as u32, c.start as u64, 1, out z);
        }
    }
}

stream_pipeline! {
    /// One kernel on the host's memory, on one stream.
    pipeline InPlaceAlone {
        param a: f32;
        inout y: mapped [f32];
        chunk c = auto;
        stream s;
        stage add on s { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut y); }
    }
}

stream_pipeline! {
    /// Other operations, a kernel that the first chunks leave out, and one on the host's memory.
    pipeline InPlaceWithMore {
        param a: f32;
        inout y: mapped [f32];
        device d: [f32];
        chunk c = auto;
        stream s;
        stage all on s {
            fill d = 1.0;
            add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut d);
            add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut y);
            if c.index >= 4 { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut y); }
        }
    }
}

const LEN: usize = 4 << 20;
const CHUNKS: usize = 8;

fn pinned(device: &Device, len: usize) -> thalweg::Result<PinnedBuf<f32>> {
    PinnedBuf::from_slice(device, &vec![1.0; len])
}

/// Both times are about equal.
#[track_caller]
fn is_near(predicted: &Timeline, run: &Report) {
    let off = predicted.time().as_secs_f64() / run.time.as_secs_f64();
    assert!((0.98..1.02).contains(&off), "{off}: {} {run}", predicted.report);
}

/// Launches take their time: there is one for a run, or one for a chunk if the CPU has a part in it. A graph
/// begins when it is launched.
#[test]
fn as_many_graphs_as_a_run_launches() -> thalweg::Result<()> {
    let mut spec = Simulation::h200();
    (spec.model.graph_launch, spec.model.graph_update) = (Duration::from_millis(1), Duration::ZERO);
    for chunks in [1, CHUNKS] {
        let device = Device::simulated(spec.clone());
        let (mut y, mut ordinary) = (pinned(&device, LEN)?, vec![1.0; LEN]);
        let mut add = Add::options(&device).chunk(LEN / chunks).graph().build()?;
        // The first one builds them.
        add.run(1.0, &mut y)?;
        is_near(&add.predict(1.0, &mut y)?, &add.run(1.0, &mut y)?);
        let mut add = Add::options(&device).chunk(LEN / chunks).graph().build()?;
        add.run(1.0, &mut ordinary)?;
        is_near(&add.predict(1.0, &mut ordinary)?, &add.run(1.0, &mut ordinary)?);
        let mut through = ThroughTheCpu::options(&device).chunk(LEN / chunks).graph().build()?;
        through.run(&mut y)?;
        is_near(&through.predict(&mut y)?, &through.run(&mut y)?);
    }
    Ok(())
}

/// A long run is several graphs, one after another.
#[test]
fn a_long_run_is_several_graphs() -> thalweg::Result<()> {
    let mut spec = Simulation::h200();
    (spec.model.graph_launch, spec.model.graph_update) = (Duration::from_millis(5), Duration::ZERO);
    let device = Device::simulated(spec);
    let mut y = pinned(&device, LEN)?;
    let mut add = Add::options(&device).chunk(LEN / 1024).graph().build()?;
    add.run(1.0, &mut y)?;
    is_near(&add.predict(1.0, &mut y)?, &add.run(1.0, &mut y)?);
    Ok(())
}

/// Operations that no graph can hold are in no graph, and neither is what the whole run shares.
#[test]
fn only_what_a_graph_holds_is_changed_in_it() -> thalweg::Result<()> {
    let mut spec = Simulation::h200();
    (spec.model.graph_launch, spec.model.graph_update) = (Duration::ZERO, Duration::from_millis(1));
    let device = Device::simulated(spec);
    let mut y = pinned(&device, LEN)?;
    let mut through = ThroughTheCpu::options(&device).chunk(LEN).graph().build()?;
    let changed = |timeline: Timeline| timeline.report.enqueuing.as_millis();
    // One of five operations is a function.
    assert_eq!(changed(through.predict(&mut y)?), 4);
    let x = PinnedBuf::from_slice(&device, &[1_i64; 100])?;
    let mut filled = Filled::options(&device).graph().build()?;
    assert_eq!(changed(filled.predict(&x, &mut vec![0; 1 << 20])?), 2);
    Ok(())
}

#[test]
fn what_is_carried_is_filled_first() -> thalweg::Result<()> {
    let mut spec = Simulation::h200();
    // The fill is large enough to take time.
    spec.model.memory_rate = 1e9;
    let device = Device::simulated(spec);
    let x = PinnedBuf::from_slice(&device, &[1_i64; 100])?;
    let mut total = PinnedBuf::zeroed(&device, 1 << 20)?;
    let mut filled = Filled::new(&device)?;
    let predicted = filled.predict(&x, &mut total)?;
    is_near(&predicted, &filled.run(&x, &mut total)?);
    Ok(())
}

/// A stream that watches another one takes one more hardware queue, of eight.
#[test]
fn few_streams_watch() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut y = pinned(&device, LEN)?;
    // Two of its three streams copy.
    let mut add = Add::options(&device).chunk(LEN / 16).build()?;
    let third = device.inject(Fault::nth(DriverCall::CreateStream, 2, Effect::Refused))?;
    let [predicted, profiled] = [add.predict(1.0, &mut y)?, add.profile(1.0, &mut y)?];
    assert!(!third.struck());
    is_near(&predicted, &profiled.report);
    // There are no more than eight.
    let device = Device::simulated(Simulation::h200());
    let mut y = pinned(&device, LEN)?;
    let mut add = PerSlot::options(&device).chunk(LEN / 16).build()?;
    let second = device.inject(Fault::nth(DriverCall::CreateStream, 1, Effect::Refused))?;
    let [predicted, profiled] = [add.predict(1.0, &mut y)?, add.profile(1.0, &mut y)?];
    assert!(!second.struck());
    assert_eq!(profiled.rows.len(), 8);
    is_near(&predicted, &profiled.report);
    for span in &predicted.spans {
        let same = |other: &&Span| (other.chunk, other.operation) == (span.chunk, span.operation);
        let other = profiled.spans.iter().find(same).expect("it is there");
        assert!(span.end.abs_diff(other.end) < Duration::from_micros(25), "{span:?} {other:?}");
    }
    Ok(())
}

/// A profile of graphs is made on streams: the report and the streams say so.
#[test]
fn a_profile_of_graphs_is_of_streams() -> thalweg::Result<()> {
    let mut spec = Simulation::h200();
    // The run waits for kernels.
    spec.model.memory_rate = 5e9;
    let device = Device::simulated(spec);
    device.calibration();
    let mut y = pinned(&device, LEN)?;
    let mut placed = Add::options(&device).chunk(LEN / 16).graph().build()?;
    for expected in [false, true] {
        let profiled = placed.profile(1.0, &mut y)?;
        assert!(!profiled.report.graph);
        let by_slot = profiled.rows.iter().any(|row| row.slot.is_some());
        assert_eq!((profiled.report.stream_per_slot, by_slot), (expected, expected), "{profiled}");
    }
    // A graph, or its prediction, does not have a stream for each slot either.
    assert!(!placed.run(1.0, &mut y)?.stream_per_slot);
    let predicted = placed.predict(1.0, &mut y)?;
    assert!(predicted.report.graph && !predicted.report.stream_per_slot);
    assert!(predicted.rows.iter().all(|row| row.slot.is_none()));
    Ok(())
}

/// A few thousand events are kept for the next profile.
#[test]
fn not_all_events_are_kept() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut y = pinned(&device, LEN)?;
    let mut add = Add::options(&device).chunk(LEN / 2048).build()?;
    let creates = |add: &mut Add, y: &mut PinnedBuf<f32>| -> thalweg::Result<bool> {
        let created = device.inject(Fault::nth(DriverCall::CreateEvent, 0, Effect::Slow(Duration::ZERO)))?;
        add.profile(1.0, y)?;
        Ok(created.struck())
    };
    assert!(creates(&mut add, &mut y)?);
    assert!(creates(&mut add, &mut y)?, "12,000 events are kept");
    let mut add = Add::options(&device).chunk(LEN / 256).build()?;
    assert!(creates(&mut add, &mut y)?);
    assert!(!creates(&mut add, &mut y)?, "fewer are not");
    Ok(())
}

/// Kernels on the host's memory copy like engines.
#[test]
fn kernels_on_the_hosts_memory() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut y = pinned(&device, LEN)?;
    let mut z = PinnedBuf::<u64>::zeroed(&device, LEN)?;
    let mut compare = |chunks: usize| -> thalweg::Result<()> {
        let mut both = InPlace::options(&device).chunk(LEN / chunks).build()?;
        let mut alone = InPlaceAlone::options(&device).chunk(LEN / chunks).build()?;
        let pairs = [
            (both.predict(1.0, &mut y, &mut z)?, both.profile(1.0, &mut y, &mut z)?),
            (alone.predict(1.0, &mut y)?, alone.profile(1.0, &mut y)?),
        ];
        for (predicted, profiled) in pairs {
            is_near(&predicted, &profiled.report);
            let all = predicted.plan.operations.len() * profiled.report.chunks;
            assert_eq!((predicted.spans.len(), profiled.spans.len()), (all, all));
            let near = predicted.time().mul_f64(0.04);
            for span in &predicted.spans {
                let same = |other: &&Span| (other.chunk, other.operation) == (span.chunk, span.operation);
                let other = profiled.spans.iter().find(same).expect("it is there");
                assert!(
                    other.start <= other.end && span.end.abs_diff(other.end) < near,
                    "{span:?} {other:?}"
                );
            }
        }
        Ok(())
    };
    [1, 3, 4, 16, 64].into_iter().try_for_each(&mut compare)
}

/// On the device a fill is much faster than a kernel over the link.
#[test]
fn each_has_its_own_time() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let mut y = pinned(&device, LEN)?;
    let mut pipeline = InPlaceWithMore::options(&device).chunk(LEN / 12).build()?;
    let (predicted, profiled) = (pipeline.predict(1.0, &mut y)?, pipeline.profile(1.0, &mut y)?);
    is_near(&predicted, &profiled.report);
    for operation in 0..predicted.plan.operations.len() {
        let [expected, found] = [&predicted, &profiled].map(|timeline| {
            let spans = timeline.spans.iter().filter(|span| span.operation == operation);
            spans.map(|span| (span.end - span.start).as_secs_f64()).sum::<f64>()
        });
        assert!((0.7..1.4).contains(&(found / expected)), "{operation}: {found} for {expected}");
    }
    Ok(())
}
