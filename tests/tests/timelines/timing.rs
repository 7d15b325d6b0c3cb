//! Virtual time: the same in every run, and shorter where streams overlap.

use thalweg::prelude::*;
use thalweg::streams::{Event, Priority, Stream};
use thalweg_tests::kernels::double_all;

stream_pipeline! {
    pipeline Overlapped {
        inout y: [f32];
        chunk c = 1 << 18;
        stage load { copy y -> dy; }
        stage double { double_all<<<132, 1>>>(1, &mut dy); }
        stage store { copy dy -> y; }
    }
}

stream_pipeline! {
    pipeline Serial {
        inout y: [f32];
        chunk c = 1 << 18;
        stream only;
        stage load on only { copy y -> dy; }
        stage double on only { double_all<<<132, 1>>>(1, &mut dy); }
        stage store on only { copy dy -> y; }
    }
}

const LEN: usize = 1 << 23;

#[test]
fn virtual_time_is_the_same_in_every_run() -> thalweg::Result<()> {
    let time = || -> thalweg::Result<_> {
        let device = Device::simulated(Simulation::default());
        let (mut pipeline, mut y) = (Overlapped::new(&device)?, vec![1.0; LEN]);
        Ok([pipeline.run(&mut y)?.time, pipeline.run(&mut y)?.time])
    };
    assert_eq!(time()?, time()?);
    Ok(())
}

/// Priorities apply to kernels: "stream priorities have no effect on host-to-device and device-to-host memory
/// operations", says the reference of `cuStreamCreateWithPriority`.
#[test]
fn copies_come_in_the_order_of_their_calls() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::h200());
    let x = PinnedBuf::zeroed(&device, LEN)?;
    let mut ends = Vec::new();
    for priority in [Priority::Default, Priority::Low, Priority::High] {
        let (stream, end) = (Stream::with_priority(&device, priority)?, Event::with_timing(&device)?);
        let dx = DeviceBuf::<f32>::zeroed(&device, LEN)?;
        ends.push((stream, end, dx));
    }
    let (clock, start) = (Stream::new(&device)?, Event::with_timing(&device)?);
    clock.record(&start)?;
    for (stream, end, dx) in &mut ends {
        stream.upload(&x, dx)?;
        stream.record(end)?;
    }
    device.synchronize()?;
    let times = ends.iter().map(|(_, end, _)| start.elapsed(end)).collect::<thalweg::Result<Vec<_>>>()?;
    assert!(times.is_sorted(), "{times:?}");
    Ok(())
}

#[test]
fn streams_overlap() -> thalweg::Result<()> {
    let spec = Simulation::default();
    let device = Device::simulated(spec.clone());
    let mut y = PinnedBuf::zeroed(&device, LEN)?;
    let serial = Serial::new(&device)?.run(&mut y)?.time.as_secs_f64();
    let overlapped = Overlapped::new(&device)?.run(&mut y)?.time.as_secs_f64();
    let one_way = 4.0 * LEN as f64 / spec.model.to_device;
    assert!(serial > 2.0 * one_way, "one stream cannot beat both copies: {serial} s");
    assert!(overlapped < 0.65 * serial, "three streams take {overlapped} s, one takes {serial} s");
    // Each direction gets less while the other is busy, and each copy begins a little late; filling and
    // emptying the pipeline takes a chunk each.
    let latency = spec.model.copy_latency + spec.model.duplex_latency;
    let limit = one_way / spec.model.duplex + latency.as_secs_f64() * (LEN >> 18) as f64;
    assert!(overlapped > one_way && overlapped < 1.2 * limit, "{overlapped} s against {limit} s");
    Ok(())
}

#[test]
fn depth_is_what_overlaps() -> thalweg::Result<()> {
    let device = Device::simulated(Simulation::default());
    let mut y = PinnedBuf::zeroed(&device, LEN)?;
    let mut time = |depth| -> thalweg::Result<_> {
        Ok(Overlapped::options(&device).depth(depth).build()?.run(&mut y)?.time.as_secs_f64())
    };
    let (one, two, three) = (time(1)?, time(2)?, time(3)?);
    assert!(two < 0.7 * one && three <= two, "depths 1, 2, 3 take {one}, {two}, {three} s");
    Ok(())
}

stream_pipeline! {
    pipeline Auto {
        inout y: [f32];
        chunk c = auto;
        stage load { copy y -> dy; }
        stage double { double_all<<<132, 1>>>(1, &mut dy); }
        stage store { copy dy -> y; }
    }
}

/// The choices of `auto` follow from the device's model, and are about the best possible by hand.
#[test]
fn an_auto_chunk_is_nearly_the_best_on_every_device() -> thalweg::Result<()> {
    for spec in [Simulation::h200(), Simulation::a100(), Simulation::rtx4090(), Simulation::t4()] {
        let device = Device::simulated(spec);
        let mut y = PinnedBuf::zeroed(&device, LEN)?;
        for len in [LEN / 32, LEN / 4, LEN] {
            let auto = Auto::new(&device)?.run(y.slice_mut(..len)?)?;
            let mut best = f64::INFINITY;
            for chunk in (14..=22).map(|power| 1 << power) {
                let report = Auto::options(&device).chunk(chunk).build()?.run(y.slice_mut(..len)?)?;
                best = best.min(report.time.as_secs_f64());
            }
            let over = auto.time.as_secs_f64() / best;
            assert!(
                over < 1.05,
                "{}, {len} items: chunks of {} take {over:.3} times the best",
                device.name(),
                auto.chunk
            );
        }
    }
    Ok(())
}

/// A stage of kernels that names no stream has one stream, and one for each slot once a run has shown that it
/// waits for kernels: then their latencies overlap.
#[test]
fn kernels_get_more_streams_where_they_are_what_a_run_waits_for() -> thalweg::Result<()> {
    let times = |spec: Simulation, graph: bool| -> thalweg::Result<Vec<f64>> {
        let device = Device::simulated(spec);
        let mut y = PinnedBuf::from_slice(&device, &vec![1.0; LEN])?;
        let options = Auto::options(&device);
        let mut pipeline = if graph { options.graph().build()? } else { options.build()? };
        let times = (0..4).map(|_| Ok(pipeline.run(&mut y)?.time.as_secs_f64())).collect();
        // One element of each chunk was doubled each time.
        assert!(y.iter().all(|y| [1.0, 16.0].contains(y)));
        times
    };
    let mut slow = Simulation::h200();
    slow.model.launch_latency = std::time::Duration::from_millis(1);
    let [first, second, third, fourth] = times(slow.clone(), false)?[..] else { unreachable!() };
    // Ten latencies come one after another; then three at a time.
    assert!(second < 0.5 * first, "{first} s, then {second} s");
    // The clock is read in whole nanoseconds.
    let same = |one: f64, other: f64| (one - other).abs() < 2e-9;
    assert!(same(third, second) && same(fourth, second), "{second}, {third}, {fourth}");
    // In a graph the order of kernels is the same, and if copies take longer nothing changes.
    let in_graph = times(slow, true)?;
    assert!(in_graph.iter().all(|time| *time > 0.9 * first), "{in_graph:?} against {first}");
    let [first, others @ ..] = &times(Simulation::h200(), false)?[..] else { unreachable!() };
    assert!(others.iter().all(|other| same(*other, *first)), "{first}, {others:?}");
    Ok(())
}

/// With more streams the copies may bound a run, which is no reason to go back to one stream again and again.
#[test]
fn streams_that_were_worth_it_stay() -> thalweg::Result<()> {
    let mut spec = Simulation::h200();
    spec.model.launch_latency = std::time::Duration::from_micros(120);
    let device = Device::simulated(spec);
    let mut y = PinnedBuf::from_slice(&device, &vec![1.0; 4 * LEN])?;
    let mut pipeline = Overlapped::options(&device).chunk(1 << 20).depth(6).build()?;
    let mut time =
        |len: usize| -> thalweg::Result<_> { Ok(pipeline.run(y.slice_mut(..len)?)?.time.as_secs_f64()) };
    let times = (0..8).map(|_| time(4 * LEN)).collect::<thalweg::Result<Vec<_>>>()?;
    assert!(times[3..].iter().all(|time| *time < 0.8 * times[0]), "{times:?}");
    // A short run shows nothing.
    time(1 << 20)?;
    let after = time(4 * LEN)?;
    assert!(after < 0.8 * times[0], "{after} after a short run, {times:?}");
    Ok(())
}

/// A short run in between shows nothing, and is no reason to go back.
#[test]
fn a_short_run_is_no_reason_to_go_back() -> thalweg::Result<()> {
    let mut spec = Simulation::h200();
    spec.model.launch_latency = std::time::Duration::from_millis(1);
    let device = Device::simulated(spec);
    let mut y = PinnedBuf::from_slice(&device, &vec![1.0; LEN])?;
    let mut pipeline = Overlapped::new(&device)?;
    let mut time =
        |len: usize| -> thalweg::Result<_> { Ok(pipeline.run(y.slice_mut(..len)?)?.time.as_secs_f64()) };
    let (first, second) = (time(LEN)?, time(LEN)?);
    time(1)?;
    let third = time(LEN)?;
    assert!(
        second < 0.5 * first && third < 0.5 * first,
        "{first} s, {second} s, after a short run {third} s"
    );
    Ok(())
}
