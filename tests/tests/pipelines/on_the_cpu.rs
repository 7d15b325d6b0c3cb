//! The CPU as a device: how it is chosen, what it says of itself, and what it refuses. What pipelines compute
//! there is in the tests of `on_every_device!`.

use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::sim::{DriverCall, Effect, Fault};
use thalweg::streams::Stream;
use thalweg::{CpuOptions, DeviceBuf, ErrorKind, PinnedBuf};
use thalweg_kernels::histogram_u8;
use thalweg_tests::errors::says;
use thalweg_tests::kernels::without_host_body;
use thalweg_tests::{is, test_name};

#[kernel]
fn scaled(i: Index, a: i32, x: &[i32], y: &mut Own<[i32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += a * (100 / x[i]);
}

/// The line of the division in `scaled`.
const DIVISION: u32 = 21;

stream_pipeline! {
    pipeline Scaled {
        param a: i32;
        input x: [i32];
        inout y: [i32];
        chunk c = 1000;
        stage load { copy x -> dx; copy y -> dy; }
        stage scale { scaled<<<blocks(c.len, 128), 128>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

/// Prints which device the child gets, and the error if it gets none.
#[test]
#[ignore = "run by the other tests, in a process with another environment"]
fn child() {
    match Device::open() {
        Ok(device) => println!("said {device}"),
        Err(error) => println!("said {error}"),
    }
}

/// What the child says if `THALWEG_CPU_THREADS` has this value.
fn said(threads: Option<&str>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &test_name(module_path!(), "child"), "--include-ignored", "--nocapture"])
        .env("THALWEG_DEVICE", "cpu")
        .env_remove("THALWEG_CPU_THREADS");
    if let Some(threads) = threads {
        command.env("THALWEG_CPU_THREADS", threads);
    }
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let said = text.lines().find_map(|line| Some(line.split_once("said ")?.1.to_owned()));
    said.unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn the_environment_chooses_it_and_its_threads() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let s = if cores == 1 { "" } else { "s" };
    for threads in [None, Some("")] {
        let text = said(threads);
        assert!(text.starts_with("CPU: ") && text.ends_with(&format!(" ({cores} thread{s})")), "{text}");
    }
    for (threads, end) in [("1", " (1 thread)"), (" 3 ", " (3 threads)"), ("500", " (500 threads)")] {
        assert!(said(Some(threads)).ends_with(end));
    }
    for bad in ["0", "-1", "two"] {
        let error =
            format!("`THALWEG_CPU_THREADS={bad}` is no number of threads for the CPU: it takes at least 1");
        assert_eq!(said(Some(bad)), error);
    }
}

stream_pipeline! {
    /// One operation uses the data.
    pipeline InOneGo {
        param a: i32;
        input x: [i32];
        inout y: [i32];
        chunk c = auto;
        stage all { copy x -> dx; copy y -> dy; scaled<<<blocks(c.len, 128), 128>>>(a, &dx, &mut dy); copy dy -> y; }
    }
}

stream_pipeline! {
    /// Each kernel goes on with what the one before has left.
    pipeline InTwo {
        param a: i32;
        input x: [i32];
        inout y: [i32];
        chunk c = auto;
        stage all {
            copy x -> dx;
            copy y -> dy;
            scaled<<<blocks(c.len, 128), 128>>>(a, &dx, &mut dy);
            scaled<<<blocks(c.len, 128), 128>>>(a, &dx, &mut dy);
            copy dy -> y;
        }
    }
}

#[test]
fn chunks_are_large_unless_operations_pass_on_what_is_in_the_caches() {
    let device = Device::cpu().unwrap();
    // 320 MiB.
    let (x, mut y) = (vec![100; 80 << 20], vec![0; 80 << 20]);
    let report = InOneGo::new(&device).unwrap().run(1, &x, &mut y).unwrap();
    assert_eq!((report.chunks, report.chunk), (2, 40 << 20));
    assert!(y.iter().all(|&y| y == 1));
    let both = InTwo::new(&device).unwrap().run(1, &x, &mut y).unwrap();
    assert!(both.chunks >= report.chunks && both.chunk <= report.chunk, "{both}");
    assert!(y.iter().all(|&y| y == 3));
}

#[test]
fn it_is_neither_a_gpu_nor_simulated() {
    let device = Device::cpu().unwrap();
    assert!(device.is_cpu() && !device.is_simulated() && !device.same(&Device::cpu().unwrap()));
    assert!(!Device::simulated(Simulation::default()).is_cpu());
    let error = Device::cpu_with(CpuOptions::default().threads(0)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Environment(_)), "{error}");
    let error = device.inject(Fault::nth(DriverCall::Launch, 0, Effect::Fails)).unwrap_err();
    is!(error, CannotInject);
    let stream = Stream::new(&device).unwrap();
    assert_eq!(stream.raw(), None);
    // SAFETY: it is refused.
    is!(unsafe { Stream::from_raw(&device, std::ptr::null_mut(), ()) }.unwrap_err(), NotAGpu);
    // SAFETY: as above.
    is!(unsafe { DeviceBuf::<u8>::from_raw(&device, 256, 1, ()) }.unwrap_err(), NotAGpu);
    // It copies page-locked memory of its like.
    let mut scaled = Scaled::new(&device).unwrap();
    let mut run = |of: &Device| {
        let (x, mut y) = (PinnedBuf::from_slice(of, &[1; 10]).unwrap(), [1; 10]);
        scaled.run(2, &x, &mut y).map(|_| y)
    };
    assert_eq!(run(&Device::cpu().unwrap()).unwrap(), [201; 10]);
    is!(run(&Device::simulated(Simulation::default())).unwrap_err(), OtherDevice { host: "x", .. });
    let error = says(&without_host_body::load(&device).unwrap_err());
    assert!(error.contains("add `#[host(…)]` to its declaration, or write the kernel in Rust"), "{error}");
}

#[test]
fn buffers_have_the_memory_that_there_is() {
    let device = Device::cpu_with(CpuOptions::default().memory(1 << 20)).unwrap();
    assert_eq!((device.memory(), device.free_memory().unwrap()), (1 << 20, 1 << 20));
    let error = DeviceBuf::<u8>::zeroed(&device, (1 << 20) + 1).unwrap_err();
    is!(error, OutOfDeviceMemory { .. });
    let text = error.to_string();
    assert!(text.contains("needs 1048577 bytes, 1048576 are free"), "{text}");
    let all = Device::cpu().unwrap();
    is!(DeviceBuf::<u64>::zeroed(&all, 1 << 44).unwrap_err(), OutOfDeviceMemory { .. });
}

#[test]
fn times_are_real() {
    let device = Device::cpu().unwrap();
    let (x, mut y) = (vec![1; 50_000], vec![0; 50_000]);
    let mut scaled = Scaled::new(&device).unwrap();
    let begun = Instant::now();
    let timeline = scaled.profile(1, &x, &mut y).unwrap();
    let took = begun.elapsed();
    let report = &timeline.report;
    assert!(!report.simulated && report.time > Duration::ZERO && report.time <= took, "{report:?}");
    assert_eq!(report.chunks, 50);
    for text in [report.to_string(), timeline.to_string()] {
        assert!(!text.contains("virtual"), "{text}");
    }
    // The kernel of every chunk was timed. Nothing is copied.
    let spans = &timeline.spans;
    assert!(spans.len() == 50 && spans.iter().all(|span| span.start <= span.end), "{}", spans.len());
    assert_eq!(y, [100; 50_000]);
}

#[test]
fn a_panic_names_the_kernel_and_the_thread_and_the_device_goes_on() {
    let device = Device::cpu_with(CpuOptions::default().threads(2)).unwrap();
    let mut scaled = Scaled::new(&device).unwrap();
    // In a launch that the waiting thread runs, and on the pool.
    for len in [5_000, 50_000] {
        let mut scaled = Scaled::options(&device).chunk(len).build().unwrap();
        let (mut x, mut y) = (vec![1; len], vec![0; len]);
        x[len - 3] = 0;
        let text = scaled.run(1, &x, &mut y).unwrap_err().to_string();
        let place = format!("`scaled` failed at {}:{DIVISION}: attempt to divide by zero", file!());
        assert!(text.contains(&place), "{text}");
        assert!(text.contains(&format!("it was the thread of index {}", len - 3)), "{text}");
        x[len - 3] = 1;
        y.fill(0);
        scaled.run(1, &x, &mut y).unwrap();
        assert_eq!(y, vec![100; len]);
    }
    let mut y = [0; 10];
    scaled.run(1, &[1; 10], &mut y).unwrap();
    assert_eq!(y, [100; 10]);
}

/// A function that ran a pipeline would wait for the thread that waits for it.
#[test]
fn a_function_that_runs_a_pipeline_is_refused() {
    let device = Device::cpu().unwrap();
    let stream = Stream::new(&device).unwrap();
    for its in [device.clone(), Device::cpu().unwrap(), Device::simulated(Simulation::default())] {
        let (tell, told) = mpsc::channel();
        let run = move || {
            let outcome = Scaled::new(&its).and_then(|mut scaled| scaled.run(1, &[1], &mut [1]));
            tell.send(outcome.map(drop)).unwrap();
        };
        stream.host(run).unwrap();
        stream.synchronize().unwrap();
        let error = told.recv().unwrap().unwrap_err();
        assert!(matches!(error.detail(), Detail::Driver(_)), "{error:?}");
    }
}

#[test]
fn two_pipelines_run_at_once() {
    let shared = Device::cpu_with(CpuOptions::default().threads(2)).unwrap();
    let own = Device::cpu_with(CpuOptions::default().threads(2)).unwrap();
    std::thread::scope(|scope| {
        for (number, device) in [&shared, &shared, &shared, &own].into_iter().enumerate() {
            scope.spawn(move || {
                let a = number as i32;
                let mut scaled = Scaled::options(device).chunk(700).build().unwrap();
                let x = vec![1; 30_000];
                for _ in 0..20 {
                    let mut y = vec![1; 30_000];
                    scaled.run(a, &x, &mut y).unwrap();
                    assert!(y.iter().all(|&y| y == 1 + 100 * a), "{a}");
                }
            });
        }
    });
}

/// Callers that are a pool's tasks wait for the device with all threads of their pool.
#[test]
fn tasks_of_a_pool_run_pipelines() {
    let device = Device::cpu_with(CpuOptions::default().threads(2)).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let run = |a: i32| {
        let mut y = vec![0; 20_000];
        let mut scaled = Scaled::options(&device).chunk(20_000).build().unwrap();
        scaled.run(a, &vec![1; 20_000], &mut y).unwrap();
        assert_eq!(y, vec![100 * a; 20_000]);
    };
    pool.scope(|scope| (0..10).for_each(|a| scope.spawn(move |_| run(a))));
}

stream_pipeline! {
    pipeline Counted {
        input x: [u8];
        carry counts: [u32; 256] = 0;
        chunk c = auto;
        stage count { copy x -> dx; histogram_u8<<<1, 256>>>(c.len as u32, &dx, &mut counts); }
    }
}

#[test]
fn a_carry_for_which_there_is_no_room_is_an_error() {
    let device = Device::cpu_with(CpuOptions::default().memory(512)).unwrap();
    let (x, mut counts) = (vec![3; 1 << 20], [0; 256]);
    let error = Counted::new(&device).unwrap().run(&x, &mut counts).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::OutOfMemory(_)), "{error}");
}
