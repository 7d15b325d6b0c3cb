//! What the devices of a run share: their links to the host, the links between them, and data for all.

use thalweg::prelude::*;
use thalweg::sim::{
    DeviceModel, DriverCall, Effect, Fault, LinkModel, MachineModel, PortModel, SimulatedMachine,
};
use thalweg::timeline::Cause;
use thalweg::{Report, Timeline};
use thalweg_tests::kernels::{add_to, axpy_each};
use thalweg_tests::numbers;

stream_pipeline! {
    pipeline Copy {
        input x: [f32];
        output z: [f32];
        chunk c = 1 << 16;
        depth = 3;
        stage up { copy x -> dx; }
        stage math { add_to<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &mut dx); }
        stage down { copy dx -> z; }
    }
}

stream_pipeline! {
    /// `z = x + w`, chunk by chunk.
    pipeline Table {
        input x: [f32];
        resident w: [f32];
        output z: [f32];
        chunk c = 256;
        depth = 2;
        stage up { copy x -> dx; }
        stage math { axpy_each<<<blocks(c.len, 256), 256>>>(c.len as u32, 1.0, &w, &mut dx); }
        stage down { copy dx -> z; }
    }
}

/// Links of 10 GB/s each way, at once.
fn device() -> DeviceModel {
    let mut model = DeviceModel::h200();
    (model.to_device, model.to_host, model.duplex) = (10e9, 10e9, 1.0);
    model
}

/// A machine whose memory has so many bytes a second for all copies.
fn machine(devices: usize, host_memory: f64) -> MachineModel {
    let mut model = MachineModel::from(vec![device(); devices]);
    model.host_memory = host_memory;
    model
}

const EACH: usize = 1 << 21;

fn with<R>(model: MachineModel, run: impl FnOnce(&mut Copy, &PinnedBuf<f32>, &mut PinnedBuf<f32>) -> R) -> R {
    let devices = Device::simulated_machine(model);
    let x = PinnedBuf::from_slice(&devices[0], &numbers(devices.len() * EACH)).expect("memory");
    let mut z = PinnedBuf::zeroed(&devices[0], x.len()).expect("memory");
    run(&mut Copy::new(&devices).expect("a pipeline"), &x, &mut z)
}

fn report(model: MachineModel) -> Report {
    with(model, |copy, x, z| copy.run(x, z).expect("a run"))
}

#[test]
fn a_report_says_what_devices_share_and_what_it_costs() {
    let shared = report(machine(4, 40e9));
    let limit = shared.shared.as_ref().expect("the memory binds");
    assert_eq!((limit.port.len(), limit.rate), (0, 40e9));
    let share = limit.lost.as_secs_f64() / shared.time.as_secs_f64();
    // Links of 80 GB/s altogether.
    assert!((0.44..0.51).contains(&share), "{share}\n{shared}");
    let text = shared.to_string();
    assert!(
        text.contains("\n  the host's memory has 40.0 GB/s for the copies of all devices, which costs "),
        "{text}"
    );

    let mut model = machine(4, 0.0);
    model.ports = vec![PortModel::new(vec![0, 2, 3], 15e9, 15e9)];
    // The devices take chunks as they become free: the one that is alone has more of them.
    let behind = report(model);
    let text = behind.to_string();
    assert!(
        behind.shared.is_none() || text.contains("devices 0, 2 and 3 share a port of 15.0 GB/s"),
        "{text}"
    );

    assert_eq!(report(machine(4, 0.0)).shared, None);
    assert_eq!(report(machine(4, 1e12)).shared, None);
    assert_eq!(report(machine(1, 40e9)).shared, None);
}

/// What N devices would give is known before one has them.
#[test]
fn a_prediction_knows_what_devices_share() {
    for (devices, host_memory) in [(1, 30e9), (2, 30e9), (4, 30e9), (8, 30e9), (4, 50e9), (8, 0.0)] {
        let model = machine(devices, host_memory);
        let predicted = with(model.clone(), |copy, x, z| copy.predict(x, z).expect("a prediction"));
        let run = report(model).time.as_secs_f64();
        let ratio = predicted.time().as_secs_f64() / run;
        assert!((0.93..1.07).contains(&ratio), "{devices} devices: {ratio}");
        let last = predicted.spans.iter().map(|span| span.end).max().expect("a span");
        assert!(last <= predicted.time(), "the picture is as long as the run");
    }
}

/// A device with one slot copies in one direction at a time, and wants half as much.
#[test]
fn what_devices_do_not_want_at_once_costs_nothing() {
    let devices = Device::simulated_machine(machine(4, 50e9));
    let x = PinnedBuf::from_slice(&devices[0], &numbers(4 * EACH)).expect("memory");
    let mut z = PinnedBuf::zeroed(&devices[0], x.len()).expect("memory");
    let mut copy = Copy::options(&devices).depth(1).build().expect("a pipeline");
    let [predicted, profiled] =
        [copy.predict(&x, &mut z).expect("a prediction"), copy.profile(&x, &mut z).expect("a profile")];
    for timeline in [&predicted, &profiled] {
        assert_eq!(timeline.report.shared, None, "{timeline}");
        let (_, text) = first_cause(timeline);
        assert!(!text.contains("memory binds"), "{text}");
    }
    let ratio = predicted.time().as_secs_f64() / profiled.time().as_secs_f64();
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}

fn first_cause(timeline: &Timeline) -> (Option<Cause>, String) {
    let findings = timeline.findings();
    let text = findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    (findings.first().map(|finding| finding.cause), text)
}

#[test]
fn a_finding_says_how_many_devices_would_do() {
    for predicts in [true, false] {
        let timeline = |model| {
            with(model, |copy, x, z| if predicts { copy.predict(x, z) } else { copy.profile(x, z) })
                .expect("a timeline")
        };
        let (cause, text) = first_cause(&timeline(machine(8, 30e9)));
        assert_eq!(cause, Some(Cause::HostMemory), "{text}");
        assert!(text.contains("30.0 GB/s for the copies of all devices"), "{text}");
        // A link has 20 GB/s both ways, so that the memory feeds one and a half.
        assert!(text.contains("help: 2 devices would do"), "{text}");
        let (_, text) = first_cause(&timeline(machine(8, 0.0)));
        assert!(!text.contains("memory binds"), "{text}");
        // One device more than needed is worth no word about devices.
        let (cause, text) = first_cause(&timeline(machine(2, 30e9)));
        assert!(cause == Some(Cause::HostMemory) && !text.contains("would do"), "{text}");
    }
}

/// The sum of a chunk's items and the first items of the table.
fn expected(x: &[f32], w: &[f32]) -> Vec<f32> {
    x.chunks(256).flat_map(|chunk| chunk.iter().zip(w).map(|(x, w)| x + w)).collect()
}

#[test]
fn data_for_all_devices_come_from_the_host_once_where_links_join_them() {
    let x = numbers(5000);
    for len in [256, 1000, 9 << 20] {
        let w = numbers(len);
        let once = 4 * len as u64;
        let joined = |devices| {
            let mut model = MachineModel::from(vec![device(); 3]);
            model.links = vec![LinkModel::new(devices, 100e9, device().copy_latency)];
            model
        };
        let machines: [(MachineModel, u64); 4] = [
            (MachineModel::h200(3), 1),
            (MachineModel::from(vec![device(); 3]), 3),
            (joined([0, 2]), 3),
            (joined([1, 2]), 3),
        ];
        for (model, copies) in machines {
            let devices = Device::simulated_machine(model);
            let mut table = Table::new(&devices).expect("a pipeline");
            for turn in 0..2 {
                let mut z = vec![0.0; x.len()];
                let report = match turn {
                    0 => table.run(&x, &w, &mut z),
                    _ => {
                        let pinned = PinnedBuf::from_slice(&devices[1], &w).expect("memory");
                        table.run(&x, &pinned, &mut z)
                    }
                };
                let report = report.expect("a run");
                assert_eq!(z, expected(&x, &w));
                assert_eq!(report.bytes_to_device, 4 * x.len() as u64 + copies * once, "{report}");
            }
            let predicted = table.predict(&x, &w, &mut vec![0.0; x.len()]).expect("a prediction");
            assert_eq!(predicted.report.bytes_to_device, 4 * x.len() as u64 + copies * once);
        }
    }
}

/// The host's link is free for the others, so that eight devices do not wait for eight copies.
#[test]
fn data_for_all_devices_take_the_time_of_one_copy() {
    let w = numbers(16 << 20);
    let time = |links: bool| {
        let mut model = machine(8, 20e9);
        model.links = if links { LinkModel::mesh(8, 400e9, device().copy_latency) } else { Vec::new() };
        let devices = Device::simulated_machine(model);
        let w = PinnedBuf::from_slice(&devices[0], &w).expect("memory");
        let mut z = vec![0.0; 10];
        Table::new(&devices)
            .expect("a pipeline")
            .run(&[1.0; 10], &w, &mut z)
            .expect("a run")
            .time
            .as_secs_f64()
    };
    let (once, each) = (time(true), time(false));
    // 64 MiB at 10 GB/s, beside eight of them at 20 GB/s.
    let (least, most) = (f64::from(64 << 20) / 10e9, 8.0 * f64::from(64 << 20) / 20e9);
    // The kernel goes through all of the table with one block, which takes the same time on both.
    let saved = (each - once) / (most - least);
    assert!(each > most && (0.97..1.03).contains(&saved), "{once} s, and {each} s");
}

/// Each copy fails once, on either device, or takes its device along: the run fails, and nothing is left behind.
#[test]
fn a_copy_of_data_for_all_that_fails_ends_the_run() {
    static KEPT: std::sync::Mutex<Vec<Device>> = std::sync::Mutex::new(Vec::new());
    let (x, w) = (numbers(1000), numbers(300));
    for effect in [Effect::Refused, Effect::Fails, Effect::Lost] {
        for device in 0..2 {
            let fault = Fault::nth(DriverCall::Copy, 0, effect);
            let machine = SimulatedMachine::from(MachineModel::h200(2)).with_fault(device, fault);
            let devices = Device::simulated_machine(machine);
            KEPT.lock().expect("no panic").extend(devices.clone());
            let free = devices[1 - device].free_memory().expect("a number");
            let mut table = Table::new(&devices).expect("a pipeline");
            let mut z = vec![0.0; x.len()];
            let error = table.run(&x, &w, &mut z).expect_err("a copy fails");
            assert!(error.device().is_some(), "{error}");
            assert_eq!((error.complete()[0].chunks, error.complete()[0].items), (0, 0));
            if effect != Effect::Lost {
                assert_eq!(error.device(), Some(device), "{effect:?}: {error}");
                table.run(&x, &w, &mut z).expect("it works again");
                assert_eq!(z, expected(&x, &w));
                drop(table);
                assert_eq!(devices[1 - device].free_memory().expect("a number"), free);
            }
        }
    }
}
