use super::*;
use crate::driver::command::recording::Recording;

const GIB: usize = 1 << 30;

/// Virtual times agree to a nanosecond for each step that was rounded.
fn assert_close(actual: Duration, expected: f64) {
    let actual = actual.as_secs_f64() * 1e9;
    assert!((actual - expected).abs() < 2.0, "{actual} ns, but {expected} ns were expected");
}

/// A model with round numbers: 1 byte a nanosecond each way, half of it while both are copying, kernels 10
/// bytes a nanosecond.
fn round() -> Simulation {
    let mut spec = Simulation::h200();
    (spec.model.to_device, spec.model.to_host, spec.model.duplex, spec.model.memory_rate) =
        (1e9, 1e9, 0.5, 10e9);
    spec.model.copy_latency = Duration::from_nanos(100);
    spec.model.duplex_latency = Duration::from_nanos(50);
    spec.model.launch_latency = Duration::from_nanos(200);
    spec.model.event_latency = Duration::from_nanos(50);
    (spec.model.host_call, spec.model.launch_call) = (Duration::from_nanos(10), Duration::from_nanos(10));
    spec.model.event_call = Duration::from_nanos(1);
    spec.model.host_memcpy = 2e9;
    spec
}

/// ```text
/// [ up 100+1000 ][ kernel 200+100 ][ down 100+1000 ]
/// ```
#[test]
fn one_stream_is_serial() {
    let rig = Rig::with(round());
    let (stream, host, at) = (rig.stream(), rig.pinned(1000), rig.device(1000));
    rig.up(stream, tag(0, 0), at, host).unwrap();
    rig.kernel(stream, tag(1, 0), &[write(at, 1000)]);
    rig.down(stream, tag(2, 0), host, at).unwrap();
    assert_close(rig.clock(), 30.0);
    rig.sync(stream).unwrap();
    assert_close(rig.clock(), 10.0 + 1100.0 + 300.0 + 1100.0);
}

/// ```text
/// up    [ 100 + 20000             ]
/// math  [ 200 + 2000 ]                  nothing orders them, and each has an engine of its own
/// ```
#[test]
fn streams_overlap() {
    let rig = Rig::with(round());
    let (up, math, host) = (rig.stream(), rig.stream(), rig.pinned(20_000));
    let (a, b) = (rig.device(20_000), rig.device(20_000));
    rig.up(up, tag(0, 0), a, host).unwrap();
    rig.kernel(math, tag(1, 0), &[write(b, 20_000)]);
    rig.sync(math).unwrap();
    assert_close(rig.clock(), 20.0 + 200.0 + 2000.0);
    rig.sync(up).unwrap();
    assert_close(rig.clock(), 10.0 + 100.0 + 20_000.0);
}

/// The kernel moves 1000 bytes each way at half rate, then 2000 more one way alone.
#[test]
fn a_kernel_gets_at_the_hosts_memory_over_the_link() {
    let rig = Rig::with(round());
    let (stream, from, to) = (rig.stream(), rig.pinned(3000), rig.pinned(1000));
    let at = |pinned: Pinned| DevicePtr(pinned.ptr.addr().get() as u64);
    rig.kernel(stream, tag(0, 0), &[read(at(from), 3000), write(at(to), 1000)]);
    rig.sync(stream).unwrap();
    assert_close(rig.clock(), 10.0 + 200.0 + 2000.0 + 2000.0);
}

/// ```text
/// up    [ 10 alone ][ 1990 at half rate ]
/// down              [ 1990 at half rate ][ 10 alone ]
/// ```
#[test]
fn both_directions_slow_each_other_down() {
    let rig = Rig::with(round());
    let (up, down) = (rig.stream(), rig.stream());
    let (from, to) = (rig.pinned(2000), rig.pinned(2000));
    let (a, b) = (rig.device(2000), rig.device(2000));
    rig.up(up, tag(0, 0), a, from).unwrap();
    rig.down(down, tag(1, 0), to, b).unwrap();
    rig.sync(down).unwrap();
    // The upload moves its bytes from 110 on, all of them at half rate, until 4110. The download begins
    // against it and moves bytes from 170 on. It has 30 left at 4110, which move at full rate.
    assert_close(rig.clock(), 4140.0);
    rig.sync(up).unwrap();
    assert_close(rig.clock(), 4140.0);
}

#[test]
fn a_copy_of_the_same_direction_waits_for_the_engine() {
    let rig = Rig::with(round());
    let (first, second) = (rig.stream(), rig.stream());
    let (from, a) = (rig.pinned(1000), rig.device(2000));
    rig.up(first, tag(0, 0), a, from).unwrap();
    rig.up(second, tag(1, 0), a.offset(1000), from).unwrap();
    rig.sync(second).unwrap();
    assert_close(rig.clock(), 10.0 + 2.0 * 1100.0);
}

#[test]
fn the_urgent_kernel_goes_first() {
    let rig = Rig::with(round().with_concurrent_kernels(1));
    let busy = rig.stream();
    let (low, high) = (rig.sim.create_stream(7).unwrap(), rig.sim.create_stream(-9).unwrap());
    let a = rig.device(30_000);
    rig.kernel(busy, tag(0, 0), &[write(a, 10_000)]);
    rig.kernel(low, tag(1, 0), &[write(a.offset(10_000), 10_000)]);
    rig.kernel(high, tag(2, 0), &[write(a.offset(20_000), 10_000)]);
    rig.sync(high).unwrap();
    assert_close(rig.clock(), 10.0 + 2.0 * 1200.0);
    rig.sync(low).unwrap();
    assert_close(rig.clock(), 10.0 + 3.0 * 1200.0);
}

/// CUDA's priorities have no effect on copies.
#[test]
fn copies_come_in_the_order_of_their_calls() {
    let rig = Rig::with(round());
    let busy = rig.stream();
    let (low, high) = (rig.sim.create_stream(7).unwrap(), rig.sim.create_stream(-9).unwrap());
    let (from, a) = (rig.pinned(1000), rig.device(3000));
    rig.up(busy, tag(0, 0), a, from).unwrap();
    rig.up(low, tag(1, 0), a.offset(1000), from).unwrap();
    rig.up(high, tag(2, 0), a.offset(2000), from).unwrap();
    rig.sync(low).unwrap();
    assert_close(rig.clock(), 10.0 + 2.0 * 1100.0);
    rig.sync(high).unwrap();
    assert_close(rig.clock(), 10.0 + 3.0 * 1100.0);
}

#[test]
fn kernels_share_the_memory_rate() {
    let rig = Rig::with(round());
    let (first, second, a) = (rig.stream(), rig.stream(), rig.device(20_000));
    rig.kernel(first, tag(0, 0), &[write(a, 10_000)]);
    rig.kernel(second, tag(1, 0), &[write(a.offset(10_000), 10_000)]);
    rig.sync(second).unwrap();
    // It moves alone from 210 on, and shared from 220 on: 100 bytes, then 9,900 at half rate until 2200, then
    // the last 100 alone.
    assert_close(rig.clock(), 2210.0);
}

#[test]
fn concurrency_is_bounded() {
    let rig = Rig::with(round().with_concurrent_kernels(1));
    let (first, second, a) = (rig.stream(), rig.stream(), rig.device(20_000));
    rig.kernel(first, tag(0, 0), &[write(a, 10_000)]);
    rig.kernel(second, tag(1, 0), &[write(a.offset(10_000), 10_000)]);
    rig.sync(second).unwrap();
    assert_close(rig.clock(), 10.0 + 2.0 * 1200.0);
}

/// ```text
/// first  [ 200 + 100 ]--e
/// second                 \-50-[ 200 + 100 ]
/// ```
#[test]
fn an_event_between_streams_takes_its_latency() {
    let rig = Rig::with(round());
    let (first, second, event, a) = (rig.stream(), rig.stream(), rig.event(), rig.device(1000));
    rig.kernel(first, tag(0, 0), &[write(a, 1000)]);
    rig.record(event, first);
    rig.wait(second, event);
    rig.kernel(second, tag(1, 0), &[write(a, 1000)]);
    rig.sync(second).unwrap();
    assert_close(rig.clock(), 10.0 + 300.0 + 50.0 + 300.0);
}

#[test]
fn work_does_not_start_before_it_is_enqueued() {
    let rig = Rig::with(round());
    let (stream, a) = (rig.stream(), rig.device(1000));
    rig.sim.host_copied(10_000);
    assert_close(rig.clock(), 5000.0);
    rig.kernel(stream, tag(0, 0), &[write(a, 1000)]);
    rig.sync(stream).unwrap();
    assert_close(rig.clock(), 5010.0 + 300.0);
    rig.sync(stream).unwrap();
    assert_close(rig.clock(), 5010.0 + 300.0);
}

/// The measurement on an H200: 21.1 ms for 1 GiB each way at the same time, through a ring of three 16 MiB
/// slots.
#[test]
fn an_h200_copies_a_gib_each_way_in_21_ms() {
    let chunks = 64;
    let bytes = GIB / chunks as usize;
    let rig = Rig::new();
    let (up, math, down) = (rig.stream(), rig.stream(), rig.stream());
    let (from, to, ring) = (rig.pinned(bytes), rig.pinned(bytes), rig.device(3 * bytes));
    let events = |_| [rig.event(), rig.event(), rig.event()];
    let [loaded, done, stored] = [events(0), events(1), events(2)];
    for chunk in 0..chunks {
        let slot = chunk as usize % 3;
        let at = ring.offset(slot * bytes);
        rig.wait(up, stored[slot]);
        rig.up(up, tag(0, chunk), at, from).unwrap();
        rig.record(loaded[slot], up);
        rig.wait(math, loaded[slot]);
        rig.kernel(math, tag(1, chunk), &[write(at, bytes)]);
        rig.record(done[slot], math);
        rig.wait(down, done[slot]);
        rig.down(down, tag(2, chunk), to, at).unwrap();
        rig.record(stored[slot], down);
    }
    rig.sync(down).unwrap();
    let millis = rig.clock().as_secs_f64() * 1e3;
    assert!((21.1..21.9).contains(&millis), "{millis} ms");
}

#[test]
fn the_same_program_takes_the_same_time() {
    let run = || {
        let rig = Rig::new();
        let streams = [rig.stream(), rig.stream(), rig.stream()];
        let events = [rig.event(), rig.event(), rig.event()];
        let (host, at) = (rig.pinned(30_000), rig.device(30_000));
        let mut times = Vec::new();
        for chunk in 0..300_usize {
            let part = chunk % 3;
            let (stream, bytes) = (streams[part], 1000 + 37 * (chunk % 11));
            let half = Pinned { bytes, ..host };
            rig.wait(stream, events[(part + 1) % 3]);
            if chunk % 2 == 0 {
                rig.up(stream, tag(0, 0), at, half).unwrap();
            } else {
                rig.down(stream, tag(1, 0), half, at).unwrap();
            }
            rig.kernel(stream, tag(2, 0), &[read(at, 500 * part)]);
            rig.record(events[part], stream);
            if chunk % 7 == 0 {
                let _ = rig.sync(stream);
                times.push(rig.clock());
            }
        }
        times
    };
    assert_eq!(run(), run());
}

#[test]
fn absurd_specs_still_end() {
    let mut spec = Simulation::t4().with_concurrent_kernels(0);
    (spec.model.to_device, spec.model.to_host, spec.model.duplex) = (0.0, f64::NAN, -1.0);
    (spec.model.memory_rate, spec.model.host_memcpy) = (f64::INFINITY, -3.0);
    spec.model.copy_latency = Duration::ZERO;
    (spec.model.host_call, spec.model.launch_call) = (Duration::ZERO, Duration::ZERO);
    let rig = Rig::with(spec);
    let (stream, host, at) = (rig.stream(), rig.pinned(1000), rig.device(1000));
    rig.up(stream, tag(0, 0), at, host).unwrap();
    rig.down(stream, tag(1, 0), host, at).unwrap();
    rig.sim.host_copied(1000);
    rig.sync(stream).unwrap();
    assert_eq!(rig.clock(), Duration::ZERO);
}

/// The time of a graph's copy of so many bytes to the device and of another one to the host, which comes after it or
/// not. `of_run`: whether it is a run's graph.
fn copied_in_a_graph(spec: &Simulation, of_run: bool, bytes: usize, after: &[u32]) -> Duration {
    let rig = Rig::with(spec.clone());
    let (stream, host) = (rig.stream(), [rig.pinned(bytes), rig.pinned(bytes)]);
    let ([up, down], [from, to]) =
        ([rig.device(bytes), rig.device(bytes)], host.map(|host| host.ptr.as_ptr()));
    let mut nodes = Recording::default();
    // SAFETY: they are no launches.
    unsafe {
        nodes.push(tag(0, 0), &[], &Command::CopyToDevice { to: up, from, bytes }).unwrap();
        nodes.push(tag(1, 0), after, &Command::CopyToHost { to, from: down, bytes }).unwrap();
    }
    // SAFETY: see `Rig`; the memory is live until the stream has been waited for.
    unsafe {
        let graph = rig.sim.build_graph(&nodes, of_run).unwrap();
        let (launched, bodies) = (rig.clock(), Vec::new());
        rig.sim.enqueue(Command::Graph { graph: &graph, nodes: &nodes, bodies }, stream, tag(9, 0)).unwrap();
        rig.sync(stream).unwrap();
        let time = rig.clock() - launched;
        rig.sim.destroy_graph(&graph).unwrap();
        time
    }
}

/// In a run's graph a kernel makes small copies, whose start no copy the other way delays. Larger ones are as elsewhere.
#[test]
fn small_copies_in_a_graph_have_their_own_latency() {
    const SMALL: usize = 64 << 10;
    let mut spec = round();
    spec.model.small_copy_latency = Duration::from_nanos(70);
    spec.model.graph_launch = Duration::from_nanos(10);
    assert_close(copied_in_a_graph(&spec, true, SMALL, &[0]), 10.0 + 2.0 * (70.0 + SMALL as f64));
    assert_close(copied_in_a_graph(&spec, true, SMALL + 1, &[0]), 10.0 + 2.0 * (100.0 + (SMALL + 1) as f64));
    assert_close(copied_in_a_graph(&spec, false, SMALL, &[0]), 10.0 + 2.0 * (100.0 + SMALL as f64));
    let both = [SMALL, SMALL + 1].map(|bytes| copied_in_a_graph(&spec, true, bytes, &[]));
    spec.model.duplex_latency += Duration::from_micros(1);
    let delayed = [SMALL, SMALL + 1].map(|bytes| copied_in_a_graph(&spec, true, bytes, &[]));
    assert!(delayed[0] == both[0] && delayed[1] > both[1], "{both:?} {delayed:?}");
}
