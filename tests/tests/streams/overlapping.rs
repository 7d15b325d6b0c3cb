//! Operations that use overlapping parts of one buffer: launches that read two of them, and graphs.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use thalweg::prelude::*;
use thalweg::sim::{DriverCall, Effect, Fault};
use thalweg::streams::Stream;
use thalweg_kernels::add_f32;

use super::{is_race, on_each, simulated};

on_each!(
    a_graph_writes_and_reads_a_part,
    a_graph_writes_a_part_again,
    a_launch_reads_two_parts,
    a_copy_behind_a_graph_is_waited_for,
);

const N: usize = 1 << 16;

fn streams<const COUNT: usize>(device: &Device) -> [Stream; COUNT] {
    [(); COUNT].map(|()| Stream::new(device).expect("a stream"))
}

fn a_graph_writes_and_reads_a_part(device: &Device) {
    let [one, other] = streams(device);
    let mut x = DeviceBuf::from_slice(device, &[1.0_f32; N]).expect("memory");
    let mut y = DeviceBuf::<f32>::zeroed(device, 100).expect("memory");
    let mut host = PinnedBuf::<f32>::zeroed(device, 100).expect("memory");
    let graph = one.capture(|stream| {
        stream.fill(&mut x, 7.0)?;
        stream.copy(x.slice(N - 200..N - 100)?, &mut y)
    });
    // A graph that goes waits for its launches.
    let graph = graph.expect("a graph");
    graph.launch(&one).expect("a launch");
    is_race(other.download(x.slice(N - 200..N - 100).expect("a part"), &mut host));
    other.wait_stream(&one).expect("a wait");
    other.download(x.slice(N - 200..N - 100).expect("a part"), &mut host).expect("a copy");
    assert_eq!(host.wait().expect("a copy"), [7.0; 100]);
}

fn a_graph_writes_a_part_again(device: &Device) {
    let [one, other] = streams(device);
    let mut x = DeviceBuf::from_slice(device, &[1.0_f32; N]).expect("memory");
    let mut host = PinnedBuf::<f32>::zeroed(device, 100).expect("memory");
    let graph = one.capture(|stream| {
        stream.fill(&mut x, 7.0)?;
        stream.fill(x.slice_mut(..10)?, 8.0)
    });
    let graph = graph.expect("a graph");
    graph.launch(&one).expect("a launch");
    is_race(other.download(x.slice(N - 200..N - 100).expect("a part"), &mut host));
}

fn a_launch_reads_two_parts(device: &Device) {
    let [one, second, third] = streams(device);
    let add = add_f32::load(device).expect("a kernel");
    let mut x = DeviceBuf::from_slice(device, &[1.0_f32; N]).expect("memory");
    let mut sums = DeviceBuf::<f32>::zeroed(device, N / 2).expect("memory");
    let mut host = PinnedBuf::<f32>::zeroed(device, 100).expect("memory");
    let (half, from) = (N / 2, N / 4);
    let [first, middle] = [0, from].map(|start| x.slice(start..start + half).expect("a part"));
    add.launch(one.config(blocks(half, 256), 256, 0), first, middle, &mut sums).expect("a launch");
    second.wait_stream(&one).expect("a wait");
    second.fill(x.slice_mut(..half).expect("a part"), 7.0).expect("a fill");
    is_race(third.download(x.slice(from..from + 100).expect("a part"), &mut host));
}

/// Otherwise a reference would be to memory that the device still writes.
fn a_copy_behind_a_graph_is_waited_for(device: &Device) {
    let [one, second, third] = streams(device);
    let x = DeviceBuf::from_slice(device, &[5.0_f32; 64]).expect("memory");
    let z = DeviceBuf::from_slice(device, &[9.0_f32; 64]).expect("memory");
    let mut y = DeviceBuf::<f32>::zeroed(device, 16).expect("memory");
    let mut host = PinnedBuf::<f32>::zeroed(device, 64).expect("memory");
    let graph = one.capture(|stream| {
        stream.download(&x, &mut host)?;
        stream.upload(host.slice(32..48)?, &mut y)
    });
    graph.expect("a graph").launch_with(&one, &mut host).expect("a launch");
    second.wait_stream(&one).expect("a wait");
    third.wait_stream(&one).expect("a wait");
    second.host(|| thread::sleep(Duration::from_millis(100))).expect("a function");
    second.download(z.slice(..16).expect("a part"), host.slice_mut(32..48).expect("a part")).expect("a copy");
    third.download(z.slice(..32).expect("a part"), host.slice_mut(..32).expect("a part")).expect("a copy");
    third.synchronize().expect("no failure");
    assert_eq!((host[31], host[40], host[50]), (9.0, 9.0, 5.0));
}

#[test]
fn a_failure_in_a_graph_is_that_of_all_its_bytes() {
    let device = simulated();
    let [stream] = streams(&device);
    let mut x = DeviceBuf::from_slice(&device, &[1.0_f32; 64]).expect("memory");
    let graph = stream.capture(|stream| {
        stream.fill(&mut x, 7.0)?;
        stream.fill(x.slice_mut(..10)?, 8.0)
    });
    let graph = graph.expect("a graph");
    device.inject(Fault::nth(DriverCall::Fill, 0, Effect::Fails)).expect("a simulated device");
    graph.launch(&stream).expect("a launch");
    stream.synchronize().expect_err("the fault");
    for part in [0..1, 9..10, 10..11, 60..61] {
        x.slice(part.clone()).expect("a part").to_vec().expect_err(&format!("{part:?}"));
    }
}

/// One thread launches a graph that is refused because of its last operation, and another one is refused each time,
/// whatever the first has noted by then.
#[test]
fn a_graph_that_is_refused_leaves_what_was_pending() {
    const LAUNCHES: usize = 300;
    let device = Device::cpu().expect("the CPU");
    let [first, second, third, graphs] = streams(&device);
    let [mut x, mut y, mut z] = [(); 3].map(|()| DeviceBuf::<u32>::zeroed(&device, 64).expect("memory"));
    // It reads what it then writes.
    let graph = graphs.capture(|stream| {
        stream.copy(&x, &mut z)?;
        stream.fill(&mut x, 1)?;
        stream.fill(&mut y, 1)
    });
    let graph = graph.expect("a graph");
    let (opens, gate) = mpsc::channel::<()>();
    // What is enqueued behind it is pending until the end.
    first
        .host(move || {
            let _ = gate.recv();
        })
        .expect("a function");
    first.fill(&mut x, 7).expect("a fill");
    second.wait_stream(&first).expect("a wait");
    second.fill(&mut y, 7).expect("a fill");
    graphs.wait_stream(&first).expect("a wait");
    thread::scope(|scope| {
        let (graph, graphs) = (graph, &graphs);
        let launches = scope.spawn(move || (0..LAUNCHES).for_each(|_| drop(is_race(graph.launch(graphs)))));
        while !launches.is_finished() {
            is_race(third.fill(&mut x, 9));
        }
    });
    drop(opens);
}
