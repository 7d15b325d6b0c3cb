//! One run on several GPUs.

#![allow(clippy::needless_range_loop, reason = "kernels go through slices by index")]

use std::time::{Duration, Instant};

use thalweg::Sharded;
use thalweg::io::{sink, source};
use thalweg::prelude::*;
use thalweg::sim::MachineModel;
use thalweg::streams::Stream;
use thalweg_tests::kernels::add_to;
use thalweg_tests::numbers;

stream_pipeline! {
    /// `z = x + a`.
    pipeline Add {
        param a: f32;
        input x: [f32];
        output z: [f32];
        chunk c = auto;
        stage up { copy x -> dx; }
        stage math { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dx); }
        stage down { copy dx -> z; }
    }
}

/// Adds a chunk, one element after another.
#[kernel]
fn sum_chunk(i: Index, x: &[f32], sum: &mut Own<[f32]>) {
    let Some(sum) = sum.get_mut(i) else { return };
    for at in 0..x.len() {
        *sum += x[at];
    }
}

fn plus(one: f32, other: f32) -> f32 {
    one + other
}

stream_pipeline! {
    pipeline Sum {
        input x: [f32];
        carry sum: [f32; 1] = 0.0 combine plus;
        chunk c = 1000;
        stage up { copy x -> dx; }
        stage math { sum_chunk<<<1, 32>>>(&dx, &mut sum); }
    }
}

/// Reads beyond its elements.
#[kernel]
fn beyond(i: Index, at: u32, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[at as usize];
}

stream_pipeline! {
    pipeline Beyond {
        param at: usize;
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 100;
        stage up { copy x -> dx; }
        stage math { beyond<<<blocks(c.len, 64), 64>>>(if c.index == at { 100 } else { 0 }, &dx, out dy); }
        stage down { copy dy -> y; }
    }
}

fn gpus() -> Vec<Device> {
    let devices = Device::all().expect("the driver");
    assert!(devices.len() > 1, "this machine has {} GPUs", devices.len());
    devices
}

fn is_sum(z: &[f32], x: &[f32], a: f32) {
    assert!(z.len() == x.len() && z.iter().zip(x).all(|(z, x)| *z == x + a));
}

#[test]
#[ignore = "needs two CUDA devices"]
fn all_kinds_of_memory() {
    let devices = gpus();
    for graph in [false, true] {
        for chunk in [None, Some(1000), Some(100_000)] {
            let options = Add::options(&devices);
            let options = if graph { options.graph() } else { options };
            let mut add =
                chunk.map_or(options.clone(), |items| options.chunk(items)).build().expect("a pipeline");
            for len in [0, 1, 999, 1001, 123_457, 3_000_000] {
                let x = numbers(len);
                for turn in 0..3 {
                    let a = turn as f32;
                    let mut z = vec![0.0; len];
                    add.run(a, &x, &mut z).expect("a run");
                    is_sum(&z, &x, a);
                    let pinned = PinnedBuf::from_slice(&devices[0], &x).expect("memory");
                    let mut z = PinnedBuf::from_slice(&devices[1], &vec![0.0; len]).expect("memory");
                    let report = add.run(a, &pinned, &mut z).expect("a run");
                    is_sum(&z, &x, a);
                    assert_eq!(report.parts.len(), devices.len());
                    let mut z = Vec::new();
                    add.run(a, source::iter(x.iter().copied()), sink::extend(&mut z)).expect("a run");
                    is_sum(&z, &x, a);
                    let mut z = Vec::new();
                    add.run(a, &x, sink::extend(&mut z)).expect("a run");
                    is_sum(&z, &x, a);
                    let mut z = vec![0.0; len];
                    add.run(a, source::iter(x.iter().copied()), &mut z).expect("a run");
                    is_sum(&z, &x, a);
                }
            }
        }
    }
}

#[test]
#[ignore = "needs two CUDA devices"]
fn a_combined_sum_has_the_same_bits_each_time() {
    let devices = gpus();
    let x: Vec<f32> = (0..100_000).map(|i| 1.0 / (1 + i * 7919 % 1009) as f32).collect();
    let mut parts = vec![0.0_f32; devices.len()];
    for (chunk, items) in x.chunks(1000).enumerate() {
        items.iter().for_each(|x| parts[chunk % devices.len()] += x);
    }
    let expected = parts.into_iter().fold(2.0, plus);
    let mut sum = Sum::new(&devices).expect("a pipeline");
    for _ in 0..100 {
        let mut of_run = [2.0];
        sum.run(&x, &mut of_run).expect("a run");
        assert_eq!(of_run, [expected]);
    }
}

stream_pipeline! {
    /// Each slot has a part of the sum.
    pipeline InSlots {
        input x: [f32];
        carry sum: [f32; 1] = 0.0 combine plus;
        chunk c = 1000;
        depth = 3;
        stream each per slot;
        stage up { copy x -> dx; }
        stage math on each { sum_chunk<<<1, 32>>>(&dx, &mut sum); }
    }
}

fn sums_in_slots(devices: &[Device]) {
    let x: Vec<f32> = (0..100_000).map(|i| 1.0 / (1 + i * 7919 % 1009) as f32).collect();
    let mut parts = vec![0.0_f32; 3 * devices.len()];
    for (chunk, items) in x.chunks(1000).enumerate() {
        let part = &mut parts[chunk % devices.len() * 3 + chunk / devices.len() % 3];
        items.iter().for_each(|x| *part += x);
    }
    let expected = parts.into_iter().fold(2.0, plus);
    for graph in [false, true] {
        let options = InSlots::options(devices);
        let mut sum = if graph { options.graph() } else { options }.build().expect("a pipeline");
        for _ in 0..20 {
            let mut of_run = [2.0];
            sum.run(&x, &mut of_run).expect("a run");
            assert_eq!(of_run, [expected], "on {}, graph: {graph}", devices.len());
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_slots_have_of_a_sum_is_combined() {
    sums_in_slots(&[Device::cuda(0).expect("a GPU")]);
}

#[test]
#[ignore = "needs two CUDA devices"]
fn what_slots_of_several_have_of_a_sum_is_combined() {
    sums_in_slots(&gpus());
}

stream_pipeline! {
    /// `y += a`, where it is.
    pipeline InParts {
        param a: f32;
        inout y: device [f32];
        chunk c = 1000;
        mode = graph;
        stage math { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut y); }
    }
}

#[test]
#[ignore = "needs two CUDA devices"]
fn each_device_launches_its_graphs_again() {
    let devices = gpus();
    let part = |device: &Device, len: usize| DeviceBuf::from_slice(device, &numbers(len)).expect("memory");
    let parts = |len: usize| Sharded::from_parts(devices.iter().map(|device| part(device, len)).collect());
    let mut buffers = [20_000, 20_000, 7_000].map(|len| parts(len).expect("parts"));
    let mut in_parts = InParts::new(&devices).expect("a pipeline");
    let mut added = [0.0; 3];
    // Only a run with the buffer and the parameter of the one before repeats it.
    for (which, a, repeats) in [
        (0, 1.0, false),
        (0, 1.0, true),
        (0, 1.0, true),
        (0, 2.0, false),
        (1, 2.0, false),
        (1, 2.0, true),
        (2, 2.0, false),
        (0, 2.0, false),
    ] {
        let report = in_parts.run(a, &mut buffers[which]).expect("a run");
        assert_eq!(report.repeated, repeats, "{which}, {a}");
        added[which] += a;
    }
    for (buffer, (added, len)) in buffers.iter().zip(added.into_iter().zip([20_000, 20_000, 7_000])) {
        let expected: Vec<f32> = numbers(len).iter().map(|y| y + added).collect();
        assert!(buffer.to_vec().expect("a copy").chunks(len).all(|part| part == expected));
    }
}

#[test]
#[ignore = "needs two CUDA devices"]
fn a_thread_that_fails_on_one_of_them() {
    let devices = gpus();
    let mut beyond = Beyond::new(&devices).expect("a pipeline");
    for at in [0, 1, 7, 30] {
        let mut y = vec![0.0; 5000];
        let error = beyond.run(at, &numbers(5000), &mut y).unwrap_err();
        assert!(error.device().is_some(), "{error}");
        assert!(error.to_string().contains("index"), "{error}");
        beyond.run(usize::MAX, &numbers(5000), &mut y).expect("a run");
    }
}

#[test]
#[ignore = "needs two CUDA devices"]
fn a_profile_has_rows_for_each() {
    let devices = gpus();
    let x = PinnedBuf::from_slice(&devices[0], &numbers(1 << 24)).expect("memory");
    let mut z = PinnedBuf::from_slice(&devices[0], &vec![0.0; 1 << 24]).expect("memory");
    let mut add = Add::new(&devices).expect("a pipeline");
    add.run(1.0, &x, &mut z).expect("a run");
    let timeline = add.profile(1.0, &x, &mut z).expect("a run");
    for device in 0..devices.len() {
        assert!(timeline.spans.iter().any(|span| timeline.rows[span.row].device == Some(device)));
    }
    println!("{}\n{}", timeline.report, timeline.gantt());
}

/// The bytes a second each way that bare copies of all of these GPUs reach at once.
fn bare_copies(devices: &[Device]) -> f64 {
    let machine = MachineModel::calibrate(devices).expect("a measurement");
    let links: f64 =
        machine.devices.iter().map(|model| model.to_device.min(model.to_host) * model.duplex).sum();
    if machine.host_memory > 0.0 { links.min(machine.host_memory / 2.0) } else { links }
}

/// How much several GPUs move, beside the bare copies of the same machine at the same time: printed, and at least 0.95 of
/// them.
#[test]
#[ignore = "needs two CUDA devices"]
fn several_links_move_what_bare_copies_do() {
    let devices = gpus();
    let before = bare_copies(&devices);
    let items = 1 << 28;
    let data: Vec<f32> = (0..items).map(|i| (i % 1013) as f32).collect();
    let x = PinnedBuf::from_slice(&devices[0], &data).expect("memory");
    let mut z = PinnedBuf::from_slice(&devices[0], &vec![0.0; items]).expect("memory");
    let mut rates = Vec::new();
    for count in 1..=devices.len() {
        let mut add = Add::new(&devices[..count]).expect("a pipeline");
        let mut times: Vec<Duration> = (0..7)
            .map(|_| {
                let clock = Instant::now();
                add.run(1.0, &x, &mut z).expect("a run");
                clock.elapsed()
            })
            .collect();
        times.sort();
        is_sum(&z, &data, 1.0);
        let rate = 4.0 * items as f64 / times[3].as_secs_f64() / 1e9;
        println!("{count} GPUs: {rate:.1} GB/s each way");
        rates.push(rate);
    }
    let bare = before.min(bare_copies(&devices)) / 1e9;
    println!("bare copies: {bare:.1} GB/s each way");
    let last = rates.last().expect("several");
    assert!(*last > 0.95 * bare && *last > rates[0], "{rates:?}, and {bare}");
}

/// Copies by hand between two GPUs, in both directions at once and from streams of both.
#[test]
#[ignore = "needs two CUDA devices"]
fn peers() {
    const LEN: usize = 16 << 20;
    let devices = gpus();
    let (one, other) = (&devices[0], &devices[1]);
    println!("{one} and {other}: direct: {}", one.can_access_peer(other).expect("an answer"));
    let add = add_to::load(other).expect("a kernel");
    let x = numbers(LEN);
    let source = DeviceBuf::from_slice(one, &x).expect("memory");
    let (mut there, mut back) =
        (DeviceBuf::zeroed(other, LEN).expect("memory"), DeviceBuf::<f32>::zeroed(one, LEN).expect("memory"));
    let [here, far] = [one, other].map(|device| Stream::new(device).expect("a stream"));
    for turn in 0..10 {
        here.copy(&source, &mut there).expect("a copy");
        let error = far.fill(&mut there, 0.0).expect_err("nothing orders it");
        assert!(matches!(error.kind(), ErrorKind::Race(_)), "{error}");
        far.wait_stream(&here).expect("a wait");
        add.launch(far.config(blocks(LEN, 256), 256, 0), LEN as u32, turn as f32, &mut there)
            .expect("a launch");
        if turn % 2 == 0 {
            far.copy(&there, &mut back).expect("a copy");
        } else {
            here.wait_stream(&far).expect("a wait");
            here.copy(&there, &mut back).expect("a copy");
        }
        is_sum(&back.to_vec().expect("a copy"), &x, turn as f32);
        far.synchronize().expect("the device");
        here.synchronize().expect("the device");
    }
    let mut copy = DeviceBuf::zeroed(other, LEN).expect("memory");
    source.copy_to(&mut copy).expect("a copy");
    assert!(copy.to_vec().expect("a copy") == x);
    // The rate of copies one after another.
    let best = (0..5).map(|_| {
        let started = Instant::now();
        (0..20).for_each(|_| here.copy(&source, &mut there).expect("a copy"));
        here.synchronize().expect("the device");
        started.elapsed()
    });
    let seconds = best.min().expect("some").as_secs_f64();
    println!("peers: {:.1} GB/s", (20 * 4 * LEN) as f64 / seconds / 1e9);
}
