//! Runs on several devices: how chunks are dealt, what is combined, what is reported, and what goes wrong.

#![allow(clippy::needless_range_loop, reason = "kernels go through slices by index")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use thalweg::__private::Detail;
use thalweg::explore::Explore;
use thalweg::io::{sink, source};
use thalweg::job::Cancel;
use thalweg::plan::Chunk;
use thalweg::prelude::*;
use thalweg::session::Session;
use thalweg::sim::{DeviceModel, DriverCall, Effect, Fault, MachineModel, PortModel, SimulatedMachine};
use thalweg::timeline::Engine;
use thalweg::{CpuOptions, Report};
use thalweg_tests::kernels::{add_to, axpy_each};
use thalweg_tests::numbers;

stream_pipeline! {
    /// `y += a`.
    pipeline Add {
        param a: f32;
        inout y: [f32];
        chunk c = auto;
        stage up { copy y -> dy; }
        stage math { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &mut dy); }
        stage down { copy dy -> y; }
    }
}

/// Adds a chunk, one element after another, so that the order shows in the bits.
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
    /// `sum[0] += x[0] + x[1] + …`
    pipeline Sum {
        input x: [f32];
        carry sum: [f32; 1] = 0.0 combine plus;
        chunk c = 16;
        stage up { copy x -> dx; }
        stage math { sum_chunk<<<1, 32>>>(&dx, &mut sum); }
    }
}

stream_pipeline! {
    /// The same without a way to combine what several devices have.
    pipeline Carried {
        input x: [f32];
        carry sum: [f32; 2];
        chunk c = 16;
        stage up { copy x -> dx; }
        stage math { axpy_each<<<1, 32>>>(2, 1.0, &dx, &mut sum); }
    }
}

stream_pipeline! {
    pipeline InPlace {
        inout y: device [f32];
        chunk c = 16;
        stage math { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &mut y); }
    }
}

fn machine(devices: usize) -> Vec<Device> {
    Device::simulated_machine(MachineModel::h200(devices))
}

/// Numbers whose sum depends on the order in which they are added.
fn uneven(len: usize) -> Vec<f32> {
    (0..len).map(|i| 1.0 / (1 + i * 7919 % 1009) as f32).collect()
}

/// The sum of what devices have that take turns, in the order of the devices, after what there was.
fn by_turns(x: &[f32], devices: usize, before: f32) -> f32 {
    let mut parts = vec![0.0_f32; devices];
    for (chunk, items) in x.chunks(16).enumerate() {
        items.iter().for_each(|x| parts[chunk % devices] += x);
    }
    parts.into_iter().fold(before, plus)
}

#[test]
fn what_devices_carry_is_combined_in_their_order() {
    for devices in 1..=4 {
        let devices = machine(devices);
        let mut sum = Sum::new(&devices).unwrap();
        for len in [0, 1, 15, 16, 17, 100, 1000] {
            let x = uneven(len);
            let mut of_run = [5.0];
            sum.run(&x, &mut of_run).unwrap();
            assert_eq!(of_run, [by_turns(&x, devices.len(), 5.0)], "{len} on {}", devices.len());
            // What the caller has enters once.
            let mut pinned = PinnedBuf::from_slice(&devices[0], &of_run).unwrap();
            sum.run(&x, &mut pinned).unwrap();
            assert_eq!(pinned[..], [by_turns(&x, devices.len(), of_run[0])], "{len} on {}", devices.len());
        }
    }
}

#[test]
fn a_combined_sum_has_the_same_bits_whatever_time_devices_take() {
    let x = uneven(1000);
    let expected = by_turns(&x, 3, 0.0);
    for seed in 0..1000_u64 {
        let mut machine = SimulatedMachine::from(MachineModel::h200(3));
        if seed % 2 == 1 {
            machine = machine.adversarial(seed);
        }
        for device in 0..3 {
            let (chunk, time) = ((seed * 7 + device * 5) % 40, Duration::from_micros(seed * 13 % 97 + 1));
            for stage in ["up", "math"] {
                let slow = Fault::at(&Sum::PLAN, stage, chunk, Effect::Slow(time)).unwrap();
                machine = machine.with_fault(device as usize, slow);
            }
        }
        let mut sum = [0.0];
        Sum::new(&Device::simulated_machine(machine)).unwrap().run(&x, &mut sum).unwrap();
        assert_eq!(sum[0].to_bits(), expected.to_bits(), "{seed}");
    }
}

/// A device with links so slow that the ends of a short run count for little.
fn slow(factor: f64) -> DeviceModel {
    let mut model = DeviceModel::h200();
    (model.to_device, model.to_host) = (model.to_device / 256.0 / factor, model.to_host / 256.0 / factor);
    model
}

/// A device that is half as fast has about half as many chunks: its share, and those that it had begun when there were
/// no more.
#[test]
fn chunks_go_to_the_next_device_that_is_free() {
    let devices = Device::simulated_machine(MachineModel::from(vec![slow(1.0), slow(2.0)]));
    let mut add = Add::options(&devices).chunk(1 << 14).depth(3).build().unwrap();
    let mut y = PinnedBuf::from_slice(&devices[0], &numbers(300 << 14)).unwrap();
    let report = add.run(1.0, &mut y).unwrap();
    assert!(y.iter().zip(numbers(300 << 14)).all(|(y, x)| *y == x + 1.0));
    let [fast, slow] = [0, 1].map(|device| report.parts[device].chunks);
    assert_eq!(fast + slow, 300);
    assert!((197..=203).contains(&fast), "{fast} and {slow}");
}

/// The report of a run over so many items, in page-locked memory.
fn copied(model: MachineModel, items: usize) -> Report {
    let devices = Device::simulated_machine(model);
    let mut y = PinnedBuf::from_slice(&devices[0], &numbers(items)).unwrap();
    Add::options(&devices).chunk(1 << 14).build().unwrap().run(1.0, &mut y).unwrap()
}

/// Checks that a run takes little longer than so many seconds, the least that the machine needs.
#[track_caller]
fn is_near(report: &Report, least: f64) {
    let share = least / report.time.as_secs_f64();
    assert!((0.97..=1.0).contains(&share), "{share:.3} of the limit\n{report}");
}

/// Each direction of a link keeps its share of the rate while both are in use.
fn both_ways(model: &DeviceModel) -> f64 {
    model.to_device * model.duplex
}

#[test]
fn several_links_move_as_much_as_they_can() {
    for devices in [1, 2, 4, 8] {
        let items = devices << 22;
        let model = MachineModel::from(vec![slow(1.0); devices]);
        let links = devices as f64 * both_ways(&model.devices[0]);
        is_near(&copied(model, items), 4.0 * items as f64 / links);
    }
}

#[test]
fn the_host_s_memory_bounds_all_links_together() {
    for devices in [2, 4, 8] {
        let items = devices << 22;
        let mut model = MachineModel::from(vec![slow(1.0); devices]);
        // As much as one and a half links need.
        model.host_memory = 3.0 * both_ways(&model.devices[0]);
        let least = 8.0 * items as f64 / model.host_memory;
        is_near(&copied(model, items), least);
    }
}

#[test]
fn devices_behind_one_port_share_it() {
    let mut model = MachineModel::from(vec![slow(1.0); 4]);
    let rate = both_ways(&model.devices[0]);
    model.ports = [[0, 1], [2, 3]].map(|devices| PortModel::new(devices.to_vec(), rate, rate)).to_vec();
    is_near(&copied(model, 4 << 22), f64::from(16 << 22) / (2.0 * rate));
}

#[test]
fn a_slow_device_holds_nobody_up() {
    let model = MachineModel::from(vec![slow(1.0), slow(1.0), slow(2.0), slow(1.0)]);
    let links = 3.5 * both_ways(&model.devices[0]);
    is_near(&copied(model, 4 << 22), f64::from(16 << 22) / links);
}

/// Where kernels bind, N devices take as long for N times as much.
#[test]
fn heavy_kernels_scale() {
    let mut heavy = DeviceModel::h200();
    heavy.memory_rate = 2e9;
    let alone = copied(vec![heavy.clone()].into(), 1 << 22).time;
    for devices in [2, 4, 8] {
        let report = copied(vec![heavy.clone(); devices].into(), devices << 22);
        assert!(alone.as_secs_f64() / report.time.as_secs_f64() > 0.97, "{alone:?}\n{report}");
    }
}

/// Virtual time does not depend on how the host's threads run.
#[test]
fn a_run_on_several_takes_the_same_time_each_time() {
    let run = || {
        let devices = machine(3);
        let mut y = PinnedBuf::from_slice(&devices[0], &numbers(100_000)).unwrap();
        Add::options(&devices).chunk(1000).build().unwrap().run(1.0, &mut y).unwrap()
    };
    let first = run();
    for _ in 0..20 {
        assert_eq!(run(), first);
    }
}

#[test]
fn every_order_of_several_devices_has_the_same_result() {
    let explored = Explore::new(3, 200).run_on_machine(MachineModel::h200(3), |devices| {
        let mut y = PinnedBuf::from_slice(&devices[0], &numbers(500)).unwrap();
        let mut add = Add::options(devices).chunk(32).build()?;
        add.run(1.0, &mut y)?;
        add.run(1.0, &mut y)?;
        assert!(y.iter().zip(numbers(500)).all(|(y, x)| *y == x + 2.0));
        let mut sum = [0.0];
        Sum::new(devices)?.run(&uneven(500), &mut sum)?;
        assert_eq!(sum, [by_turns(&uneven(500), 3, 0.0)]);
        Ok(())
    });
    assert!(explored.unwrap().orders > 190);
}

#[test]
fn a_report_has_a_part_for_each_device() {
    let devices = machine(2);
    let mut add = Add::options(&devices).chunk(100).build().unwrap();
    let mut y = numbers(1000);
    let report = add.run(1.0, &mut y).unwrap();
    assert_eq!((report.items, report.chunks, report.device.as_str()), (1000, 10, "2 x simulated H200"));
    assert_eq!(report.parts.iter().map(|part| part.items).sum::<usize>(), 1000);
    assert_eq!(report.bytes_to_device, 4000);
    let text = report.to_string();
    assert!(text.contains("\n  device 1, simulated H200: 5 chunks, 500 items in "), "{text}");

    let timeline = add.profile(1.0, &mut y).unwrap();
    assert_eq!((timeline.spans.len(), timeline.timed_chunks()), (30, 10));
    let names: Vec<_> = timeline.rows.iter().map(|row| (row.device, row.name.as_str())).collect();
    let expected = ["up", "math", "down"].map(|name| (name, name));
    assert_eq!(names.len(), 2 * expected.len(), "{names:?}");
    assert_eq!(names[3], (Some(1), "d1 up"));
    assert!(timeline.spans.iter().any(|span| timeline.rows[span.row].device == Some(1)));

    let predicted = add.predict(1.0, &mut y).unwrap();
    assert!(predicted.predicted && predicted.spans.len() == 30);
    assert_eq!(predicted.report.parts.len(), 2);
    assert!(predicted.spans.iter().any(|span| span.engine == Engine::ToHost));
}

#[test]
fn fewer_chunks_than_devices() {
    let devices = machine(4);
    let mut add = Add::options(&devices).chunk(10).build().unwrap();
    for len in [0, 1, 9, 10, 11, 31] {
        let mut y = numbers(len);
        let report = add.run(1.0, &mut y).unwrap();
        assert!(y.iter().zip(numbers(len)).all(|(y, x)| *y == x + 1.0));
        assert_eq!((report.chunks, report.parts.len()), (len.div_ceil(10), 4));
    }
}

#[test]
fn lists_of_devices_that_cannot_share_a_run() {
    let refused = |devices: &[Device]| Add::new(devices).unwrap_err();
    let none = refused(&[]);
    assert!(matches!(none.detail(), Detail::NoDevices), "{none}");
    assert!(none.to_string().contains("in pipeline `Add`"), "{none}");
    let [one, other] = [(); 2].map(|()| Device::simulated(Simulation::h200()));
    let twice = refused(&[one.clone(), other, one.clone()]).to_string();
    assert!(twice.starts_with("devices 0 and 2 are both `simulated H200`"), "{twice}");
    let cpu = Device::cpu_with(CpuOptions::default().threads(1)).unwrap();
    let mixed = refused(&[one, cpu]);
    assert!(matches!(mixed.detail(), Detail::DevicesDiffer { .. }), "{mixed}");
}

#[test]
fn arguments_that_several_devices_cannot_have() {
    let devices = machine(2);
    let mut carried = Carried::new(&devices).unwrap();
    let error = carried.run(&numbers(100), &mut [0.0; 2]).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("`sum` is carried from chunk to chunk, but chunks go to 2 devices\n  help: "),
        "{text}"
    );
    let mut y = DeviceBuf::<f32>::zeroed(&devices[0], 100).unwrap();
    let text = InPlace::new(&devices).unwrap().run(&mut y).unwrap_err().to_string();
    assert!(
        text.starts_with("`y` is in the memory of `simulated H200`, but the run has 2 devices"),
        "{text}"
    );
    assert_eq!(y.to_vec().unwrap(), [0.0; 100]);
}

#[test]
fn a_device_with_too_little_memory_is_named() {
    let mut model = MachineModel::h200(2);
    model.devices[1].memory = 1 << 20;
    let devices = Device::simulated_machine(model.clone());
    let error = Add::options(&devices).chunk(1 << 20).build().unwrap_err();
    assert_eq!(
        (error.device(), matches!(error.kind(), ErrorKind::OutOfMemory(_))),
        (Some(1), true),
        "{error}"
    );
    assert!(error.to_string().contains("\n  on device 1, `simulated H200`"), "{error}");
    // An `auto` chunk is small enough for all.
    let mut y = PinnedBuf::from_slice(&devices[0], &numbers(1 << 22)).unwrap();
    let report = Add::new(&devices).unwrap().run(1.0, &mut y).unwrap();
    assert!(y.iter().zip(numbers(1 << 22)).all(|(y, x)| *y == x + 1.0));
    assert!(report.parts[1].device_memory <= 1 << 20, "{report}");
}

/// What is said to be complete is, whichever device fails and when; nothing is left behind, and the pipeline works
/// again.
#[test]
fn a_device_that_fails_ends_the_run_on_all() {
    for graph in [false, true] {
        for (device, launch) in [(0, 0), (1, 3), (1, 15), (0, 15)] {
            let devices = machine(2);
            let before: Vec<_> = devices.iter().map(|device| device.free_memory().unwrap()).collect();
            let options = Add::options(&devices).chunk(10).depth(2);
            let mut add = if graph { options.graph() } else { options }.build().unwrap();
            for effect in [Effect::Fails, Effect::Refused] {
                let fault = Fault::nth(DriverCall::Launch, launch, effect);
                let injected = devices[device].inject(fault).unwrap();
                let mut y = PinnedBuf::from_slice(&devices[0], &numbers(400)).unwrap();
                let error = add.run(1.0, &mut y).unwrap_err();
                assert!(injected.struck());
                assert_eq!(error.device(), Some(device), "{error}");
                let complete = error.complete()[0].items;
                assert!(complete < 400, "{error}");
                assert!(y[..complete].iter().zip(numbers(400)).all(|(y, x)| *y == x + 1.0), "{error}");
                let mut again = numbers(400);
                add.run(1.0, &mut again).unwrap();
                assert!(again.iter().zip(numbers(400)).all(|(y, x)| *y == x + 1.0));
            }
            drop(add);
            let after: Vec<_> = devices.iter().map(|device| device.free_memory().unwrap()).collect();
            assert_eq!(after, before);
        }
    }
}

/// A model may have any figures: a file that somebody wrote, or a guess.
#[test]
fn a_prediction_for_links_that_move_nothing() {
    let least = 1e-300;
    let changes: [fn(&mut MachineModel, f64); 7] = [
        |machine, least| machine.devices[1].to_device = least,
        |machine, least| machine.devices[1].to_host = least,
        |machine, least| machine.devices[0].memory_rate = least,
        |machine, least| machine.devices[0].duplex = least,
        |machine, least| machine.host_memory = least,
        |machine, least| machine.ports.push(PortModel::new(vec![0, 1], least, least)),
        |machine, _| machine.devices[1].copy_latency = Duration::MAX,
    ];
    let predicted = |machine| {
        let mut add = Add::new(&Device::simulated_machine(machine)).unwrap();
        let timeline = add.predict(1.0, &mut numbers(1_000_000)).unwrap();
        assert!(timeline.findings().iter().all(|finding| finding.lost <= timeline.report.time));
        timeline.report
    };
    let usual = predicted(MachineModel::h200(2)).time;
    for (number, change) in changes.into_iter().enumerate() {
        let mut machine = MachineModel::h200(2);
        change(&mut machine, least);
        let report = predicted(machine);
        assert!(report.time >= usual, "{number}: {report}");
    }
}

#[test]
fn a_device_that_is_lost_is_named_and_the_others_are_drained() {
    /// They are kept for good, so that a leak checker finds their memory.
    static KEPT: Mutex<Vec<(Add, PinnedBuf<f32>)>> = Mutex::new(Vec::new());
    let devices = machine(3);
    let mut add = Add::options(&devices).chunk(10).build().unwrap();
    let fault = Fault::at(&Add::PLAN, "math", 7, Effect::Lost).unwrap();
    let injected = [0, 1, 2].map(|number| devices[number].inject(fault).unwrap());
    let mut y = PinnedBuf::from_slice(&devices[0], &numbers(400)).unwrap();
    let error = add.run(1.0, &mut y).unwrap_err();
    assert_eq!(error.device(), injected.iter().position(|injected| injected.struck()), "{error}");
    // The pipeline has memory that the lost device may access.
    assert!(add.run(1.0, &mut numbers(10)).is_err());
    KEPT.lock().unwrap().push((add, y));
}

stream_pipeline! {
    /// Panics at a chunk.
    pipeline Panics {
        param at: usize;
        inout y: [f32];
        chunk c = 10;
        stage up { copy y -> dy; }
        stage math {
            add_to<<<blocks(c.len, 256), 256>>>(if c.index == at { panic!("at chunk {}", c.index) } else { c.len as u32 }, 1.0, &mut dy);
        }
        stage down { copy dy -> y; }
    }
}

#[test]
fn a_panic_on_one_device_goes_on_after_all_are_drained() {
    let devices = machine(3);
    let mut panics = Panics::new(&devices).unwrap();
    for at in [0, 1, 5, 19] {
        let mut y = numbers(200);
        let panic = catch_unwind(AssertUnwindSafe(|| panics.run(at, &mut y))).unwrap_err();
        assert_eq!(panic.downcast_ref::<String>(), Some(&format!("at chunk {at}")));
        let mut y = numbers(200);
        panics.run(99, &mut y).unwrap();
        assert!(y.iter().zip(numbers(200)).all(|(y, x)| *y == x + 1.0));
    }
}

#[test]
fn a_run_on_several_can_be_cancelled() {
    let devices = machine(2);
    let cancel = Cancel::new();
    let asked = cancel.clone();
    let options = Add::options(&devices).chunk(10).depth(2);
    let mut add = options
        .progress_with(move |progress| {
            if progress.done >= 200 {
                asked.cancel();
            }
        })
        .build()
        .unwrap();
    let mut y = numbers(100_000);
    let error = cancel.during(|| add.run(1.0, &mut y)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Cancelled(_)), "{error}");
    let complete = error.complete()[0].items;
    assert!((10..99_000).contains(&complete), "{complete}");
    assert!(y[..complete].iter().zip(numbers(100_000)).all(|(y, x)| *y == x + 1.0));
}

#[test]
fn progress_is_that_of_all_devices() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let devices = machine(3);
    let listener = told.clone();
    let options = Add::options(&devices).chunk(10).depth(2);
    let mut add =
        options.progress_with(move |progress| listener.lock().unwrap().push(progress.done)).build().unwrap();
    add.run(1.0, &mut numbers(1000)).unwrap();
    let told = told.lock().unwrap();
    assert!(told.is_sorted() && told.len() > 50, "{told:?}");
    assert_eq!((told.first(), told.last()), (Some(&0), Some(&1000)));
}

/// Threads of the host may use the same devices at once.
#[test]
fn two_pipelines_share_devices() {
    let devices = machine(2);
    std::thread::scope(|scope| {
        for a in [1.0, 2.0] {
            let devices = &devices;
            scope.spawn(move || {
                let mut add = Add::options(devices).chunk(50).build().unwrap();
                for _ in 0..20 {
                    let mut y = numbers(1000);
                    add.run(a, &mut y).unwrap();
                    assert!(y.iter().zip(numbers(1000)).all(|(y, x)| *y == x + a));
                }
            });
        }
    });
}

/// Two CPUs are one, in real time.
#[test]
fn several_devices_in_real_time() {
    let devices = [(); 2].map(|()| Device::cpu_with(CpuOptions::default().threads(2)).unwrap());
    let mut add = Add::options(&devices).chunk(1000).build().unwrap();
    for len in [0, 1, 999, 100_000] {
        let mut y = numbers(len);
        add.run(1.0, &mut y).unwrap();
        assert!(y.iter().zip(numbers(len)).all(|(y, x)| *y == x + 1.0));
    }
    let mut sum = [0.0];
    Sum::new(&devices).unwrap().run(&uneven(1000), &mut sum).unwrap();
    assert_eq!(sum, [by_turns(&uneven(1000), 2, 0.0)]);
}

stream_pipeline! {
    /// `z = x + w + 1`, of which any may be streamed.
    pipeline Streams {
        input x: [f32];
        input w: [f32];
        output z: [f32];
        chunk c = 16;
        stage up { copy x -> dx; copy w -> dw; }
        stage math {
            add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &mut dx);
            axpy_each<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &dw, &mut dx);
        }
        stage down { copy dx -> z; }
    }
}

fn streamed(len: usize) -> Vec<f32> {
    numbers(len).iter().zip(uneven(len)).map(|(x, w)| x + 1.0 + w).collect()
}

/// Sources end where they end, sinks get all chunks in their order, and nothing depends on how long anything takes.
#[test]
fn sources_and_sinks_of_several_devices_have_their_chunks_in_order() {
    for devices in 1..=4 {
        for seed in 0..12_u64 {
            let machine = SimulatedMachine::from(MachineModel::h200(devices));
            let devices =
                Device::simulated_machine(if seed % 3 == 0 { machine } else { machine.adversarial(seed) });
            let options = Streams::options(&devices).depth(1 + seed as usize % 3);
            let mut pipeline = if seed % 2 == 0 { options.graph() } else { options }.build().unwrap();
            for len in [0, 1, 15, 16, 17, 100, 333] {
                let (x, w) = (numbers(len), uneven(len));
                let (mut z, mut chunks) = (Vec::new(), Vec::new());
                let sink = sink::for_each(|c: Chunk, part: &[f32]| {
                    chunks.push((c.index, c.start));
                    z.extend_from_slice(part);
                    Ok(())
                });
                // The first source determines the length.
                let report = pipeline.run(source::iter(x.clone()), source::iter(w.clone()), sink).unwrap();
                assert_eq!(z, streamed(len), "{len} on {}", devices.len());
                let expected: Vec<_> = (0..len.div_ceil(16)).map(|chunk| (chunk, 16 * chunk)).collect();
                assert_eq!(chunks, expected);
                assert_eq!((report.items, report.chunks), (len, len.div_ceil(16)));
                // An argument in memory does.
                let mut z = Vec::new();
                pipeline.run(source::iter(x.clone()), &w, sink::extend(&mut z)).unwrap();
                assert_eq!(z, streamed(len));
                let mut z = vec![0.0; len];
                pipeline.run(&x, source::iter(w), &mut z).unwrap();
                assert_eq!(z, streamed(len));
            }
        }
    }
}

stream_pipeline! {
    /// `z = x + 1`.
    pipeline Plus {
        input x: [f32];
        output z: [f32];
        chunk c = 16;
        depth = 2;
        stage up { copy x -> dx; }
        stage math { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &mut dx); }
        stage down { copy dx -> z; }
    }
}

/// What is flushed is a chunk of its own, however short, and goes to the next device.
#[test]
fn a_session_on_several_devices() {
    for devices in 1..=3 {
        let devices = machine(devices);
        let mut plus = Plus::new(&devices).unwrap();
        let mut session = Session::start(move |x, z| plus.run(x, z)).unwrap();
        for turn in 0..60_usize {
            let data = numbers(turn * 7 % 40);
            session.push(&data).unwrap();
            session.flush().unwrap();
            let (mut back, mut got) = (vec![0.0; data.len()], 0);
            while got < back.len() {
                got += session.pull(&mut back[got..]).unwrap();
            }
            assert!(back.iter().zip(&data).all(|(back, x)| *back == x + 1.0), "{turn} on {}", devices.len());
        }
        let report = session.close().unwrap();
        assert_eq!(report.items, (0..60).map(|turn| turn * 7 % 40).sum::<usize>());
    }
}

/// Each way for a run with sources and sinks to fail: a sink has the chunks before, in order, and no other.
#[test]
fn what_fails_beside_sources_and_sinks() {
    let x = numbers(400);
    for devices in 1..=3 {
        let devices = machine(devices);
        let mut pipeline = Streams::options(&devices).depth(2).build().unwrap();
        for at in [0_usize, 1, 7, 20] {
            // A source.
            let mut z = Vec::new();
            let fails = source::from_fn(|c: Chunk, slot: &mut [f32]| {
                if c.index == at {
                    return Err(std::io::Error::other("it fails"));
                }
                slot.fill(1.0);
                Ok(slot.len())
            });
            let error = pipeline.run(&x, fails, sink::extend(&mut z)).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Source(_)), "{error}");
            // Chunks before it are whole.
            assert!(z.len() == 16 * at && z.iter().zip(&x).all(|(z, x)| *z == x + 2.0), "{at}: {error}");
            assert_eq!(error.complete()[0].elements, z.len());
            // A sink.
            let mut seen = 0;
            let fails = sink::for_each(|c: Chunk, _: &[f32]| {
                assert_eq!(c.index, seen);
                seen += 1;
                if c.index == at { Err(std::io::Error::other("it fails")) } else { Ok(()) }
            });
            let error = pipeline.run(&x, source::iter(vec![1.0; 400]), fails).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Sink(_)), "{error}");
            assert_eq!(seen, at + 1);
            // A device.
            let number = at % devices.len();
            let injected =
                devices[number].inject(Fault::at(&Streams::PLAN, "math", at as u64, Effect::Fails).unwrap());
            let mut z = Vec::new();
            let error = pipeline.run(&x, source::iter(vec![1.0; 400]), sink::extend(&mut z)).unwrap_err();
            assert!(injected.unwrap().struck());
            assert_eq!(error.device(), (devices.len() > 1).then_some(number), "{error}");
            assert!(z.len() <= 16 * at && z.iter().zip(&x).all(|(z, x)| *z == x + 2.0), "{at}: {error}");
            assert!(error.complete()[0].elements <= z.len());
            // And it works again.
            let mut z = Vec::new();
            pipeline.run(&x, source::iter(vec![1.0; 400]), sink::extend(&mut z)).unwrap();
            assert!(z.len() == 400 && z.iter().zip(&x).all(|(z, x)| *z == x + 2.0));
        }
    }
}

/// A source that panics ends the run with an error; the other devices are drained.
#[test]
fn a_source_that_panics_on_several_devices() {
    let devices = machine(2);
    let mut pipeline = Streams::new(&devices).unwrap();
    let panics = source::from_fn(|c: Chunk, slot: &mut [f32]| {
        assert!(c.index < 3, "no more");
        slot.fill(1.0);
        Ok(slot.len())
    });
    let mut z = vec![0.0; 400];
    let error = pipeline.run(&numbers(400), panics, &mut z).unwrap_err();
    assert!(error.to_string().contains("it panicked: no more"), "{error}");
    let complete = error.complete()[0].items;
    assert!(complete <= 48 && z[..complete].iter().zip(numbers(400)).all(|(z, x)| *z == x + 2.0));
}

fn panics(_: f32, _: f32) -> f32 {
    panic!("it does not add up")
}

stream_pipeline! {
    pipeline PanicsAtTheEnd {
        input x: [f32];
        carry sum: [f32; 1] = 0.0 combine panics;
        chunk c = 16;
        stage up { copy x -> dx; }
        stage math { sum_chunk<<<1, 32>>>(&dx, &mut sum); }
    }
}

/// The function that combines is the user's. When it is called, nothing is in flight.
#[test]
fn a_function_that_combines_may_panic() {
    for devices in 1..=2 {
        let devices = machine(devices);
        let mut pipeline = PanicsAtTheEnd::new(&devices).unwrap();
        let predicted = pipeline.predict(&uneven(100), &mut [0.0]).unwrap();
        assert_eq!(predicted.report.chunks, 7);
        for _ in 0..2 {
            let panic =
                catch_unwind(AssertUnwindSafe(|| pipeline.run(&uneven(100), &mut [0.0]))).unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"it does not add up"));
        }
    }
}

stream_pipeline! {
    /// Two sinks, whose chunks go through slots of their own.
    pipeline TwoSinks {
        input x: [f32];
        output y: [f32];
        output z: [f32];
        chunk c = 16;
        depth = 3;
        stage up { copy x -> dx; }
        stage math { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &mut dx); }
        stage down { copy dx -> y; }
        stage again { copy dx -> z; }
    }
}

/// A device that has failed gives to its sinks what it has; others wait for that, and for no more.
#[test]
fn two_sinks_of_devices_that_fail() {
    for devices in 1..=3 {
        let devices = machine(devices);
        for graph in [false, true] {
            let options = TwoSinks::options(&devices);
            let mut pipeline = if graph { options.graph() } else { options }.build().unwrap();
            for chunk in [0_u64, 1, 6, 13, 24] {
                for effect in [Effect::Refused, Effect::Fails] {
                    let number = chunk as usize % devices.len();
                    let fault = Fault::at(&TwoSinks::PLAN, "math", chunk, effect).unwrap();
                    let injected = devices[number].inject(fault).unwrap();
                    let (mut y, mut z) = (Vec::new(), Vec::new());
                    let run =
                        pipeline.run(source::iter(numbers(400)), sink::extend(&mut y), sink::extend(&mut z));
                    let error = run.unwrap_err();
                    assert!(injected.struck(), "{chunk}");
                    for (index, sunk) in [&y, &z].into_iter().enumerate() {
                        assert!(sunk.len() <= 16 * chunk as usize, "{chunk}: {error}");
                        assert!(sunk.iter().zip(numbers(400)).all(|(y, x)| *y == x + 1.0));
                        assert_eq!(error.complete()[index].elements, sunk.len(), "{error}");
                    }
                }
            }
            let (mut y, mut z) = (Vec::new(), Vec::new());
            let run = pipeline.run(source::iter(numbers(405)), sink::extend(&mut y), sink::extend(&mut z));
            let report = run.unwrap();
            assert_eq!((report.items, report.chunks, report.chunk), (405, 26, 16));
            assert!(y == z && y.len() == 405);
        }
    }
}

/// A device with so little memory that chunks have to be smaller makes them more for all, for which all have slots.
#[test]
fn a_device_with_very_little_memory() {
    for little in [64 << 10, 96 << 10, 192 << 10] {
        let mut model = MachineModel::h200(2);
        model.devices[1].memory = little;
        let devices = Device::simulated_machine(model);
        let mut add = Add::options(&devices).depth(3).build().unwrap();
        let mut y = PinnedBuf::from_slice(&devices[0], &numbers(50_000)).unwrap();
        let report = add.run(1.0, &mut y).unwrap();
        assert!(y.iter().zip(numbers(50_000)).all(|(y, x)| *y == x + 1.0));
        assert!(report.chunks > 2, "{report}");
        let mut y = numbers(50_000);
        add.run(1.0, &mut y).unwrap();
        assert!(y.iter().zip(numbers(50_000)).all(|(y, x)| *y == x + 1.0));
    }
}

/// Each has its part of a short run.
#[test]
fn as_many_chunks_as_devices_are_one_for_each() {
    let devices = machine(4);
    let mut add = Add::options(&devices).chunk(1000).depth(3).build().unwrap();
    for chunks in [4, 8, 12] {
        let mut y = PinnedBuf::from_slice(&devices[0], &numbers(1000 * chunks)).unwrap();
        let report = add.run(1.0, &mut y).unwrap();
        assert!(report.parts.iter().all(|part| part.chunks == chunks / 4), "{report}");
    }
}

/// An error that is of no device names none.
#[test]
fn a_source_is_no_device_s() {
    let devices = machine(2);
    let fails = source::from_fn(|_: Chunk, _: &mut [f32]| Err(std::io::Error::other("it fails")));
    let error = Plus::new(&devices).unwrap().run(fails, &mut [0.0; 100]).unwrap_err();
    assert_eq!(error.device(), None, "{error}");
    let short = Plus::new(&devices).unwrap().run(source::iter(vec![0.0; 7]), &mut [0.0; 100]).unwrap_err();
    assert_eq!(short.device(), None, "{short}");
}

/// A panic's payload whose destructor panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("it went off");
    }
}

/// Panics once two threads do.
fn both_panic(meeting: &Barrier) -> f32 {
    meeting.wait();
    std::panic::panic_any(Bomb)
}

stream_pipeline! {
    pipeline BothPanic {
        param meeting: Arc<Barrier>;
        input x: [f32];
        output z: [f32];
        chunk c = 16;
        stage up { copy x -> dx; }
        stage math { add_to<<<1, 16>>>(c.len as u32, both_panic(&meeting), &mut dx); }
        stage down { copy dx -> z; }
    }
}

/// The first panic goes on, and the other one ends where it is.
#[test]
fn panics_on_two_devices() {
    // Not of one machine: these have threads that go on at the same time.
    let devices = [(); 2].map(|()| Device::simulated(Simulation::h200()));
    let mut pipeline = BothPanic::new(&devices).unwrap();
    let mut z = vec![0.0; 64];
    let run = || pipeline.run(Arc::new(Barrier::new(2)), &numbers(64), &mut z);
    let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    std::mem::forget(payload.downcast::<Bomb>().expect("the payload"));
}

/// What has arrived is told even if a device had no part of it.
#[test]
fn a_device_that_does_not_begin() {
    let mut refused = 0;
    for nth in 0..12 {
        let devices = machine(2);
        let mut pipeline = Add::options(&devices).chunk(16).build().unwrap();
        pipeline.run(1.0, &mut numbers(400)).unwrap();
        // A profile has events of its own, which are made before its first chunk.
        let fault = Fault::nth(DriverCall::CreateEvent, nth, Effect::Refused);
        let injected = devices[1].inject(fault).unwrap();
        let Err(error) = pipeline.profile(1.0, &mut numbers(400)) else { continue };
        refused += 1;
        assert!(injected.struck());
        assert_eq!(error.device(), Some(1), "{error}");
        let [complete] = error.complete() else { panic!("{error}: {:?}", error.complete()) };
        assert!(complete.chunks <= 1 && complete.elements <= 16, "{complete:?}");
    }
    assert!(refused > 0, "no event was refused");
}
