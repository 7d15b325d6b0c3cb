//! Runs on several GPUs: each makes the calls that a run on it alone would make of the same chunks.

use std::collections::HashMap;

use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::numbers;
use thalweg_tests::stubs::{Stubs, is_child};

const STUBS: Stubs = Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/several-stubs"));

fn plus(one: f32, other: f32) -> f32 {
    one + other
}

stream_pipeline! {
    /// Devices take turns, because of the `carry`.
    pipeline InTurns {
        input x: [f32];
        inout y: [f32];
        carry last: [f32; 100] = 0.0 combine plus;
        chunk c = 100;
        depth = 2;
        stage up { copy x -> dx; copy y -> dy; }
        stage math { saxpy<<<1, 128>>>(1.0, &dx, &mut last); }
        stage down { copy dy -> y; }
    }
}

stream_pipeline! {
    /// Devices take chunks as they become free.
    pipeline Free {
        input x: [f32];
        inout y: [f32];
        chunk c = 100;
        depth = 2;
        stage up { copy x -> dx; copy y -> dy; }
        stage math { saxpy<<<1, 128>>>(1.0, &dx, &mut dy); }
        stage down { copy dy -> y; }
    }
}

/// The names of objects and addresses in the calls by which a device is given work, in the order in which they occur:
/// the same for runs that differ in nothing else.
fn work(record: &str, device: usize) -> Vec<String> {
    const CALLS: [&str; 6] =
        ["cuMemcpy", "cuLaunch", "cuMemset", "cuEventRecord", "cuStreamWait", "cuStreamSynchronize"];
    let mut names = HashMap::new();
    let own = record.lines().filter_map(|line| line.strip_prefix(&format!("{device}| ")));
    let work = own.filter(|line| CALLS.iter().any(|call| line.starts_with(call)));
    let renamed = |word: &str| {
        let is_name =
            word.starts_with(['s', 'e', 'd', 'h', 'm']) && word.contains(|c: char| c.is_ascii_digit());
        let next = names.len();
        if is_name { format!("#{}", names.entry(word.to_owned()).or_insert(next)) } else { word.to_owned() }
    };
    let mut renamed = renamed;
    work.map(|line| line.split(' ').map(&mut renamed).collect::<Vec<_>>().join(" ")).collect()
}

/// The chunks that a device of two has if they take turns.
fn every_other(data: &[f32], first: usize) -> Vec<f32> {
    data.chunks(100).skip(first).step_by(2).flatten().copied().collect()
}

fn pinned(device: &Device, data: &[f32]) -> PinnedBuf<f32> {
    PinnedBuf::from_slice(device, data).expect("memory")
}

#[test]
fn each_of_two_makes_the_calls_of_one() {
    const PART: &str = "THALWEG_TEST_PART";
    if is_child() {
        let devices = Device::all().expect("two GPUs");
        let (x, y) = (numbers(900), numbers(900));
        let part = std::env::var(PART).expect("a part");
        let (devices, x, y) = match part.parse::<usize>() {
            Ok(number) => (vec![devices[number].clone()], every_other(&x, number), every_other(&y, number)),
            Err(_) => (devices, x, y),
        };
        let (x, mut y) = (pinned(&devices[0], &x), pinned(&devices[0], &y));
        let mut pipeline = InTurns::new(&devices).expect("a pipeline");
        pipeline.run(&x, &mut y, &mut [0.0; 100]).expect("a run");
        return;
    }
    let record = |part| {
        let variables =
            [("THALWEG_GPUS", "2"), ("THALWEG_DEVICE", "cuda:all"), ("THALWEG_WHICH", "1"), (PART, part)];
        STUBS.run_again("each_of_two_makes_the_calls_of_one", &variables)
    };
    let both = record("both");
    for device in 0..2 {
        let (of_two, alone) = (work(&both, device), work(&record(["0", "1"][device]), device));
        // Three copies, a launch and two pairs of records and waits for each chunk, or more.
        assert!(alone.len() > 4 * 4, "{alone:#?}");
        assert_eq!(of_two, alone, "device {device}");
    }
}

/// Where devices take chunks as they become free, an event more marks the end of each chunk.
#[test]
fn a_free_device_has_one_event_more_for_each_chunk() {
    if is_child() {
        let devices = Device::all().expect("two GPUs");
        let (x, mut y) = (pinned(&devices[0], &numbers(900)), pinned(&devices[0], &numbers(900)));
        let report = Free::new(&devices).expect("a pipeline").run(&x, &mut y).expect("a run");
        assert_eq!(report.parts.iter().map(|part| part.chunks).sum::<usize>(), 9);
        return;
    }
    let variables = [("THALWEG_GPUS", "2"), ("THALWEG_DEVICE", "cuda:all"), ("THALWEG_WHICH", "1")];
    let record = STUBS.run_again("a_free_device_has_one_event_more_for_each_chunk", &variables);
    let count = |call: &str| record.lines().filter(|line| line.contains(call)).count();
    let of_plan = Free::PLAN.events.len() * 9;
    assert_eq!((count("cuLaunchKernel"), count("cuEventRecord")), (9, of_plan + 9), "{record}");
}
