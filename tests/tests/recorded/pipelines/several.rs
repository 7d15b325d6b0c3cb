//! Runs on several GPUs: each makes the calls that a run on it alone would make of the same chunks.

use std::collections::HashMap;
use std::ffi::{c_char, c_ulong, c_void};
use std::sync::{Barrier, Mutex};
use std::time::Duration;
use std::{mem, ptr, thread};

use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::numbers;
use thalweg_tests::stubs::{Stubs, is_child};

const STUBS: Stubs = Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/several-stubs"));

/// The same, with a library that counts how often threads wait for each other.
const LOCKS: Stubs = Stubs {
    libraries: &["libcuda", "libnvrtc", "libfutex"],
    ..Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/several-locks"))
};

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

/// The number of times that a thread had to wait for a lock, as the preloaded library counts them.
fn contended_locks() -> u64 {
    unsafe extern "C" {
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    // SAFETY: a null handle stands for all libraries of the process, and the name is a C string.
    let found = unsafe { dlsym(ptr::null_mut(), c"thalweg_contended_locks".as_ptr()) };
    assert!(!found.is_null(), "the library is not there");
    // SAFETY: the library's function of this name has this type.
    let count: extern "C" fn() -> c_ulong = unsafe { mem::transmute(found) };
    count()
}

/// A thread that holds a lock for a while, and another that wants it: the count is of something.
fn hold_a_lock() {
    let (lock, begun) = (Mutex::new(()), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _held = lock.lock().expect("no panic");
            begun.wait();
            thread::sleep(Duration::from_millis(50));
        });
        begun.wait();
        drop(lock.lock().expect("no panic"));
    });
}

/// Each device has a thread that makes all of its calls, and no thread waits for a lock that another has.
#[test]
fn threads_of_devices_have_no_lock_in_common() {
    const CHUNKS: usize = 400;
    if is_child() {
        let before = contended_locks();
        hold_a_lock();
        assert!(contended_locks() > before);
        let devices = Device::all().expect("some GPUs");
        let len = 100 * CHUNKS * devices.len();
        let (x, mut y) = (pinned(&devices[0], &numbers(len)), pinned(&devices[0], &numbers(len)));
        let mut free = Free::new(&devices).expect("a pipeline");
        let mut in_turns = InTurns::new(&devices).expect("a pipeline");
        for _ in 0..3 {
            let before = contended_locks();
            let report = free.run(&x, &mut y).expect("a run");
            assert_eq!(contended_locks() - before, 0, "free");
            assert_eq!(report.chunks, CHUNKS * devices.len());
            let before = contended_locks();
            in_turns.run(&x, &mut y, &mut [0.0; 100]).expect("a run");
            assert_eq!(contended_locks() - before, 0, "in turns");
        }
        return;
    }
    let preload = format!("{}/libfutex.so", LOCKS.folder);
    for gpus in ["1", "2", "4", "8"] {
        let variables = [
            ("THALWEG_GPUS", gpus),
            ("THALWEG_DEVICE", "cuda:all"),
            ("THALWEG_WHICH", "1"),
            ("THALWEG_WHO", "1"),
            ("LD_PRELOAD", &preload),
        ];
        let record = LOCKS.run_again("threads_of_devices_have_no_lock_in_common", &variables);
        let mut launching: HashMap<&str, HashMap<&str, usize>> = HashMap::new();
        for line in record.lines().filter(|line| line.contains("| cuLaunchKernel")) {
            let (thread, rest) = line.split_once(' ').expect("a thread");
            let (device, _) = rest.split_once('|').expect("a device");
            *launching.entry(device).or_default().entry(thread).or_default() += 1;
        }
        assert_eq!(launching.len().to_string(), gpus, "{launching:?}");
        // Six runs, with a thread each for every device but the first, whose is the caller's.
        let of_first = launching.remove("0").expect("the first device");
        assert_eq!(of_first.len(), 1, "{of_first:?}");
        let callers = of_first.into_keys().next().expect("a thread");
        for (device, threads) in launching {
            assert!(threads.len() <= 6 && !threads.contains_key(callers), "device {device}: {threads:?}");
            // Where devices take turns each has as many.
            assert!(threads.values().filter(|chunks| **chunks == CHUNKS).count() >= 3, "{threads:?}");
        }
    }
}
