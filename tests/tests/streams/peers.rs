//! Copies and events between two devices.

use std::thread;
use std::time::Duration;

use thalweg::__private::Detail;
use thalweg::explore::Explore;
use thalweg::kernel::blocks;
use thalweg::sim::{
    DeviceModel, DriverCall, Effect, Fault, LinkModel, MachineModel, SimulatedMachine, Simulation,
};
use thalweg::streams::{Event, Rectangle, Stream};
use thalweg::{Device, DeviceBuf, ErrorKind, PinnedBuf, Result};
use thalweg_tests::kernels::add_to;
use thalweg_tests::numbers;

use super::{cpu, is_race, simulated};

fn two() -> [Device; 2] {
    machine(MachineModel::h200(2))
}

fn machine(model: impl Into<SimulatedMachine>) -> [Device; 2] {
    let devices = Device::simulated_machine(model.into());
    devices.try_into().unwrap_or_else(|devices: Vec<Device>| panic!("{} devices", devices.len()))
}

/// A machine that is kept for good, so that a leak checker finds the memory that is left to a device.
fn kept(model: impl Into<SimulatedMachine>) -> [Device; 2] {
    static KEPT: std::sync::Mutex<Vec<Device>> = std::sync::Mutex::new(Vec::new());
    let devices = machine(model);
    KEPT.lock().expect("no panic").extend(devices.clone());
    devices
}

fn buffer(device: &Device, data: &[f32]) -> DeviceBuf<f32> {
    DeviceBuf::from_slice(device, data).expect("memory")
}

fn zeroed(device: &Device, len: usize) -> DeviceBuf<f32> {
    DeviceBuf::zeroed(device, len).expect("memory")
}

fn stream(device: &Device) -> Stream {
    Stream::new(device).expect("a stream")
}

/// There and back: each device adds to what it has from the other. The streams of either copy.
fn there_and_back(devices: &[Device]) -> Result<()> {
    let [one, other] = devices else { panic!("two devices") };
    let add = [add_to::load(one)?, add_to::load(other)?];
    for pushes in [false, true] {
        let x = numbers(1000);
        let streams = [Stream::new(one)?, Stream::new(other)?];
        // Copies beside the others, which nothing orders with them.
        let (aside, source) = (Stream::new(other)?, DeviceBuf::from_slice(one, &x)?);
        let mut beside = DeviceBuf::<f32>::zeroed(other, x.len())?;
        let (mut here, mut there) =
            (DeviceBuf::from_slice(one, &x)?, DeviceBuf::<f32>::zeroed(other, x.len())?);
        for turn in 0..3 {
            add[0].launch(streams[0].config(blocks(1000, 256), 256, 0), 1000, 1.0, &mut here)?;
            if pushes {
                streams[0].copy(&here, &mut there)?;
                streams[1].wait_stream(&streams[0])?;
            } else {
                let done = Event::new(one)?;
                streams[0].record(&done)?;
                streams[1].wait(&done)?;
                streams[1].copy(&here, &mut there)?;
            }
            add[1].launch(streams[1].config(blocks(1000, 256), 256, 0), 1000, 1.0, &mut there)?;
            aside.copy(&source, &mut beside)?;
            streams[0].wait_stream(&streams[1])?;
            streams[0].copy(there.slice(500..)?, here.slice_mut(500..)?)?;
            let host = here.to_vec()?;
            let added = (turn + 1) as f32;
            assert!(host[..500].iter().zip(&x).all(|(found, x)| *found == x + added));
            assert!(host[500..].iter().zip(&x[500..]).all(|(found, x)| *found == x + 2.0 * added));
        }
        assert_eq!(beside.to_vec()?, x);
    }
    Ok(())
}

/// Whole numbers, of which sums are exact.
#[test]
fn there_and_back_in_time_and_in_any_order() {
    there_and_back(&two()).expect("the program");
    there_and_back(&machine(MachineModel::from(vec![DeviceModel::a100(); 2]))).expect("without a link");
    let explored = Explore::new(1, 200).run_on_machine(MachineModel::h200(2), there_and_back);
    assert!(explored.expect("no order matters").orders > 20);
}

#[test]
fn what_nothing_orders_is_a_race() {
    let [one, other] = two();
    let (here, there) = (stream(&one), stream(&other));
    let (mut x, mut y) = (zeroed(&one, 100), zeroed(&other, 100));
    here.fill(&mut x, 1.0).expect("a fill");
    assert!(is_race(there.copy(&x, &mut y)).contains("fill"));
    here.copy(&x, &mut y).expect("a copy");
    let race = is_race(there.fill(&mut y, 2.0));
    assert!(race.contains("`copy`") && race.contains("peers.rs"), "{race}");
    is_race(there.fill(y.slice_mut(99..).expect("a part"), 2.0));
    is_race(here.fill(&mut x, 3.0).and_then(|()| there.copy(&x, &mut y)));
    there.wait_stream(&here).expect("a wait");
    there.fill(&mut y, 2.0).expect("a fill");
    // The null stream of a device does not wait for other devices' streams.
    let null = Stream::null(&one).expect("a stream");
    is_race(null.copy(&y, &mut x));
    drop((x, y));
}

/// The simulated device finds the races of unchecked operations, on whichever device.
#[test]
fn unchecked_races_are_found_when_they_are_carried_out() {
    let [one, other] = two();
    let (here, there) = (stream(&one), stream(&other));
    // SAFETY: there is a race, which the simulated device reports instead of having it.
    let unchecked = unsafe { there.unchecked() };
    let (x, mut y) = (buffer(&one, &[1.0; 100]), zeroed(&other, 100));
    here.copy(&x, &mut y).expect("a copy");
    unchecked.fill(&mut y, 2.0).expect("it is enqueued");
    let error = there.synchronize().expect_err("a race");
    let ErrorKind::Race(_) = error.kind() else { panic!("{error}") };
    let text = error.to_string();
    assert!(text.contains("fill") && text.contains("copy"), "{text}");
    here.synchronize().expect("the copy");
}

#[test]
fn what_is_pending_on_a_peer_is_waited_for() {
    let [one, other] = two();
    let here = stream(&one);
    let (x, mut y) = (buffer(&one, &[3.0; 1000]), zeroed(&other, 1000));
    here.copy(&x, &mut y).expect("a copy");
    assert_eq!(y.to_vec().expect("the copy is over"), [3.0; 1000]);
    // The buffers go while a copy uses them.
    let free = [&one, &other].map(|device| device.free_memory().expect("a number"));
    here.copy(&x, &mut y).expect("a copy");
    drop((x, y));
    let after = [&one, &other].map(|device| device.free_memory().expect("a number"));
    assert!(after.iter().zip(&free).all(|(after, free)| *after > *free));
    // So may a stream, and the last handle of a device.
    let (x, mut y) = (buffer(&one, &[4.0; 1000]), zeroed(&other, 1000));
    here.copy(&x, &mut y).expect("a copy");
    drop((here, x, one));
    assert_eq!(y.to_vec().expect("the copy is over"), [4.0; 1000]);
}

#[track_caller]
fn is_misuse(result: Result<()>, parts: &[&str]) {
    let error = result.expect_err("a misuse");
    let ErrorKind::Misuse(_) = error.kind() else { panic!("{error}") };
    let text = error.to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn what_is_no_peer_is_refused() {
    let [one, other] = two();
    let alone = simulated();
    let (here, x) = (stream(&one), buffer(&one, &[1.0; 10]));
    let mut there = [zeroed(&other, 10), zeroed(&other, 10)];
    let [first, second] = &mut there;
    // The stream has neither of the two.
    is_misuse(here.copy(&*first, second), &["`DeviceBuf` belongs to"]);
    for stranger in [&alone, &cpu()] {
        let mut far = zeroed(stranger, 10);
        is_misuse(here.copy(&x, &mut far), &["`DeviceBuf` belongs to"]);
        is_misuse(here.copy(&far, &mut zeroed(&one, 10)), &["`DeviceBuf` belongs to"]);
        let event = Event::new(stranger).expect("an event");
        is_misuse(here.wait(&event), &["`Event` belongs to"]);
        is_misuse(here.wait_stream(&stream(stranger)), &["`Event` belongs to"]);
        assert!(!one.can_access_peer(stranger).expect("an answer"));
    }
    // Only `copy` reaches a peer.
    let host = PinnedBuf::from_slice(&one, &[1.0_f32; 10]).expect("memory");
    is_misuse(here.upload(&host, &mut *first), &["`DeviceBuf` belongs to"]);
    is_misuse(here.fill(&mut *first, 1.0), &["`DeviceBuf` belongs to"]);
    let row = Rectangle { width: 10, height: 1, from_pitch: 10, to_pitch: 10 };
    is_misuse(here.copy_2d(&x, &mut *first, row), &["`DeviceBuf` belongs to"]);
    let event = Event::new(&other).expect("an event");
    is_misuse(here.record(&event), &["`Event` belongs to"]);
    let error = here.copy(&x, first.slice_mut(1..).expect("a part")).expect_err("other lengths");
    assert!(matches!(error.kind(), ErrorKind::Shape(_)), "{error}");
}

#[test]
fn a_graph_is_of_one_device() {
    let [one, other] = two();
    let (here, there) = (stream(&one), stream(&other));
    let (mut x, mut y) = (zeroed(&one, 100), zeroed(&other, 100));
    let captured = here.capture(|here| {
        let refused = here.copy(&x, &mut y).expect_err("no node");
        assert!(matches!(refused.detail(), Detail::NotInGraph { operation: "copy" }), "{refused}");
        here.fill(&mut x, 1.0)?;
        let refused = there.wait_stream(here).expect_err("another device");
        assert!(matches!(refused.detail(), Detail::NotInGraph { .. }), "{refused}");
        there.fill(&mut y, 2.0)
    });
    let graph = captured.expect("a graph");
    graph.launch(&here).expect("a launch");
    assert_eq!(x.to_vec().expect("a copy"), [1.0; 100]);
    assert_eq!(y.to_vec().expect("a copy"), [2.0; 100]);
}

#[test]
fn copies_that_are_waited_for_go_between_any_devices() {
    let [one, other] = two();
    let apart = machine(MachineModel::from(vec![DeviceModel::t4(); 2]));
    let devices = [one, other, apart[0].clone(), apart[1].clone(), simulated(), cpu()];
    for len in [0, 1, 999] {
        let x = numbers(len);
        for from in &devices {
            let source = buffer(from, &x);
            for to in &devices {
                let mut target = zeroed(to, len);
                source.copy_to(&mut target).expect("a copy");
                assert_eq!(target.to_vec().expect("a copy"), x);
            }
        }
    }
    let source = buffer(&devices[0], &[1.0; 3]);
    for to in [&devices[0], &devices[1], &devices[5]] {
        let error = source.copy_to(&mut zeroed(to, 4)).expect_err("other lengths");
        let ErrorKind::Shape(_) = error.kind() else { panic!("{error}") };
        assert!(error.to_string().contains("peers.rs"), "{error}");
    }
    // What is pending comes first, on both.
    let (here, there) = (stream(&devices[0]), stream(&devices[1]));
    let (mut x, mut y) = (zeroed(&devices[0], 100), zeroed(&devices[1], 100));
    here.fill(&mut x, 7.0).expect("a fill");
    there.fill(&mut y, 8.0).expect("a fill");
    x.copy_to(&mut y).expect("a copy");
    assert_eq!(y.to_vec().expect("a copy"), [7.0; 100]);
}

/// The time of one copy of 64 MiB, in GB/s.
fn rate(devices: &[Device; 2]) -> f64 {
    const BYTES: usize = 64 << 20;
    let (x, mut y) = (zeroed(&devices[0], BYTES / 4), zeroed(&devices[1], BYTES / 4));
    let here = stream(&devices[0]);
    let [start, stop] = [(); 2].map(|()| Event::with_timing(&devices[0]).expect("an event"));
    here.record(&start).expect("a record");
    here.copy(&x, &mut y).expect("a copy");
    here.record(&stop).expect("a record");
    here.synchronize().expect("the device");
    BYTES as f64 / start.elapsed(&stop).expect("both are over").as_secs_f64() / 1e9
}

#[track_caller]
fn is_about(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.03, "{found:.1} GB/s, not {expected:.1}");
}

#[test]
fn a_copy_takes_the_time_of_its_way() {
    let two = two();
    assert!(two[0].can_access_peer(&two[1]).expect("an answer"));
    is_about(rate(&two), 396.0);
    // Without a link, data go up one link of the host and down the other.
    let h200 = DeviceModel::h200();
    let apart = machine(MachineModel::from(vec![h200.clone(); 2]));
    assert!(!apart[0].can_access_peer(&apart[1]).expect("an answer"));
    is_about(rate(&apart), h200.to_host.min(h200.to_device) / 1e9);
    // The host's memory is written and read.
    let mut slow = MachineModel::from(vec![h200.clone(); 2]);
    slow.host_memory = 40e9;
    is_about(rate(&machine(slow)), 20.0);
    let mut pair = MachineModel::from(vec![h200; 2]);
    pair.links = vec![LinkModel::new([1, 0], 100e9, Duration::from_micros(2))];
    is_about(rate(&machine(pair)), 100.0);
}

#[test]
fn copies_share_a_link() {
    const BYTES: usize = 64 << 20;
    let mut model = MachineModel::from(vec![DeviceModel::h200(); 2]);
    model.links = LinkModel::mesh(2, 100e9, Duration::from_micros(2));
    let devices = machine(model);
    let (here, there) = (stream(&devices[0]), stream(&devices[1]));
    let source = [zeroed(&devices[0], BYTES / 4), zeroed(&devices[0], BYTES / 4)];
    let mut target = [zeroed(&devices[1], BYTES / 4), zeroed(&devices[1], BYTES / 4)];
    let [start, stop] = [(); 2].map(|()| Event::with_timing(&devices[0]).expect("an event"));
    here.record(&start).expect("a record");
    there.wait(&start).expect("a wait");
    // One device pushes and the other pulls, in the same direction.
    here.copy(&source[0], &mut target[0]).expect("a copy");
    there.copy(&source[1], &mut target[1]).expect("a copy");
    here.wait_stream(&there).expect("a wait");
    here.record(&stop).expect("a record");
    here.synchronize().expect("the device");
    let seconds = start.elapsed(&stop).expect("both are over").as_secs_f64();
    is_about(2.0 * BYTES as f64 / seconds / 1e9, 100.0);
}

#[test]
fn a_failure_reaches_the_peer_that_waits() {
    let [one, other] = two();
    let (here, there) = (stream(&one), stream(&other));
    let (x, mut y, mut z) = (buffer(&one, &[1.0; 100]), zeroed(&other, 100), zeroed(&other, 100));
    let injected = one.inject(Fault::nth(DriverCall::Copy, 0, Effect::Fails)).expect("it is simulated");
    let line = line!() + 1;
    here.copy(&x, &mut y).expect("it is enqueued");
    there.wait_stream(&here).expect("a wait");
    there.copy(&y, &mut z).expect("it is enqueued");
    // Whoever reads the result is told, and which line has failed, though it is another device's.
    let error = there.synchronize().expect_err("the copy has failed");
    assert!(injected.struck());
    assert!(error.to_string().contains(&format!("peers.rs:{line}:")), "{error}");
    assert!(y.to_vec().is_err() && z.to_vec().is_err());
    here.synchronize().expect_err("it has failed");
    here.copy(&x, &mut y).expect("a copy");
    there.wait_stream(&here).expect("a wait");
    there.copy(&y, &mut z).expect("a copy");
    assert_eq!(z.to_vec().expect("it works again"), [1.0; 100]);
}

#[test]
fn a_device_that_is_lost_does_not_take_its_peer_along() {
    let [one, other] = kept(MachineModel::h200(2));
    let (here, there) = (stream(&one), stream(&other));
    let (mut x, mut y) = (buffer(&one, &[1.0; 100]), buffer(&other, &[2.0; 100]));
    one.inject(Fault::nth(DriverCall::Fill, 0, Effect::Lost)).expect("it is simulated");
    here.fill(&mut x, 5.0).expect("it is enqueued");
    there.wait_stream(&here).expect("a wait");
    there.copy(&x, &mut y).expect("it is enqueued");
    let error = there.synchronize().expect_err("the peer is lost");
    assert!(matches!(error.kind(), ErrorKind::Driver(_)), "{error}");
    assert!(matches!(here.synchronize().expect_err("it is lost").kind(), ErrorKind::DeviceLost(_)));
    // The other one works on.
    assert!(matches!(there.copy(&x, &mut y).expect_err("of a lost device").kind(), ErrorKind::DeviceLost(_)));
    there.fill(&mut y, 3.0).expect("a fill");
    assert_eq!(y.to_vec().expect("it works"), [3.0; 100]);
    assert!(x.copy_to(&mut y).is_err());
    assert_eq!(y.to_vec().expect("it works"), [3.0; 100]);
}

#[test]
fn two_threads_copy_in_both_directions() {
    let [one, other] = two();
    let (a, b) = (numbers(5000), vec![7.0_f32; 5000]);
    let exchange = |from: &Device, to: &Device, data: &[f32]| {
        let (stream, source) = (stream(from), buffer(from, data));
        for turn in 0..50 {
            let mut target = zeroed(to, data.len());
            if turn % 2 == 0 {
                stream.copy(&source, &mut target).expect("a copy");
            } else {
                source.copy_to(&mut target).expect("a copy");
            }
            assert_eq!(target.to_vec().expect("a copy"), data);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| exchange(&one, &other, &a));
        scope.spawn(|| exchange(&other, &one, &b));
    });
}

/// Not even the first copy, which finds the way, waits inside a function.
#[test]
fn a_function_cannot_copy() {
    let [one, other] = two();
    let (first, second) = (stream(&one), stream(&one));
    let (x, y) = (buffer(&one, &[1.0; 10]), zeroed(&other, 10));
    first
        .host(move || {
            let mut y = y;
            let error = second.copy(&x, &mut y).expect_err("inside a function");
            assert!(matches!(error.kind(), ErrorKind::Driver(_)), "{error}");
            assert!(x.copy_to(&mut y).is_err());
        })
        .expect("a function");
    first.synchronize().expect("the function has not failed");
}

#[test]
fn a_simulated_device_alone_has_no_peer() {
    let (one, other) = (simulated(), Device::simulated(Simulation::h200()));
    assert!(one.can_access_peer(&one).expect("itself") && !one.can_access_peer(&other).expect("an answer"));
}
