//! Several threads of the host run pipelines on one device at once, or each on one of its own.

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::kernels::{add_to, axpy_each};
use thalweg_tests::random::Random;
use thalweg_tests::waiting::in_time;

stream_pipeline! {
    pipeline Axpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        resident w: [f32];
        carry total: [f32; 64];
        chunk c = auto;
        stage load { copy x -> dx; copy y -> dy; }
        stage math {
            axpy_each<<<blocks(c.len, 128), 128>>>(c.len as u32, a, &dx, &mut dy);
            add_to<<<1, 64>>>(64, 1.0, &mut total);
            axpy_each<<<1, 64>>>(64, 1.0, &w, &mut total);
        }
        stage store { copy dy -> y; }
    }
}

const THREADS: u64 = 8;
const RUNS: u64 = 1000;

/// Splits this number of runs among threads, each with pipelines and data of its own and all kinds of memory.
fn many_runs(device: &Device) {
    thread::scope(|scope| {
        for number in 0..THREADS {
            scope.spawn(move || {
                let mut random = Random::new(number);
                let mut pipelines = [
                    Axpy::options(device).chunk(700).build().expect("a pipeline"),
                    Axpy::options(device).chunk(300).graph().build().expect("a pipeline"),
                    Axpy::new(device).expect("a pipeline"),
                ];
                for run in 0..RUNS / THREADS {
                    let n = random.below(3000) as usize;
                    let (x, mut y) = (random.floats(n, -1.0, 1.0), random.floats(n, -1.0, 1.0));
                    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 0.5 * x + y).collect();
                    let pipeline = &mut pipelines[(run % 3) as usize];
                    let (w, mut total) = ([2.0_f32; 64], [0.0_f32; 64]);
                    let report = if run % 2 == 0 {
                        pipeline.run(0.5, &x, &mut y, &w, &mut total).expect("a run")
                    } else {
                        let x = PinnedBuf::from_slice(device, &x).expect("memory");
                        let mut pinned = PinnedBuf::from_slice(device, &y).expect("memory");
                        let report = pipeline.run(0.5, &x, &mut pinned, &w, &mut total).expect("a run");
                        y.copy_from_slice(&pinned);
                        report
                    };
                    let is_close = |(y, expected): (&f32, &f32)| (y - expected).abs() <= 1e-6;
                    assert!(y.iter().zip(&expected).all(is_close), "thread {number}, run {run}, {n} items");
                    assert_eq!(total, [3.0 * report.chunks as f32; 64], "thread {number}, run {run}");
                    if run % 40 == 17 {
                        // Pipelines come and go, too.
                        pipelines[(run % 3) as usize] =
                            Axpy::options(device).chunk(450).build().expect("a pipeline");
                    }
                }
            });
        }
    });
}

#[test]
fn many_runs_on_the_simulated_device() {
    let spec = Simulation::h200().with_memory(1 << 30).with_pinned_memory(1 << 30);
    let device = Device::simulated(spec);
    let before = device.free_memory().expect("a number");
    many_runs(&device);
    assert_eq!(device.free_memory().expect("a number"), before, "device memory is lost");
    // All of the page-locked memory is free.
    drop(PinnedBuf::<u8>::zeroed(&device, 1 << 30).expect("page-locked memory is lost"));
}

#[test]
#[ignore = "needs a CUDA device"]
fn many_runs_on_a_gpu() {
    static GPU: OnceLock<Device> = OnceLock::new();
    let device = GPU.get_or_init(|| Device::cuda(0).expect("a CUDA device"));
    // Libraries and modules that are loaded once are loaded now.
    many_runs(device);
    let before = device.free_memory().expect("a number");
    many_runs(device);
    // Other tests use the GPU, too, and give its memory back.
    let since = Instant::now();
    loop {
        let lost = before.saturating_sub(device.free_memory().expect("a number"));
        if lost <= 4 << 20 {
            break;
        }
        assert!(since.elapsed() < Duration::from_secs(30), "{lost} bytes of device memory are lost");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Makes a stream call a function, on a simulated device of its own.
fn call(function: impl FnOnce() + Send + 'static) {
    let stream = Stream::new(&Device::simulated(Simulation::default())).expect("a stream");
    stream.host(function).expect("a function");
    stream.synchronize().expect("the device");
}

/// The functions of all devices run at the same time, as on GPUs, each of which has a thread.
#[test]
fn functions_of_more_devices_than_cores_meet() {
    in_time(|| {
        let devices = rayon::current_num_threads() + 1;
        let all = Arc::new(Barrier::new(devices));
        thread::scope(|scope| {
            for _ in 0..devices {
                let all = Arc::clone(&all);
                scope.spawn(move || {
                    call(move || {
                        all.wait();
                    });
                });
            }
        });
    });
}

/// A thread of rayon's that waits for a task carries out another one meanwhile, on the same stack.
#[test]
fn a_function_that_waits_for_rayon_has_no_other_devices_function_inside() {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    in_time(|| {
        for _ in 0..20 {
            let (begun, is_begun) = channel();
            let waits = move || {
                let _lock = ONE_AT_A_TIME.lock().expect("no function panics");
                let task = || {
                    begun.send(()).expect("the test waits");
                    thread::sleep(Duration::from_millis(10));
                };
                // The first task lasts until another thread has taken the second.
                rayon::join(|| thread::sleep(Duration::from_millis(2)), task);
            };
            thread::scope(|scope| {
                scope.spawn(move || call(waits));
                is_begun.recv().expect("the function has begun");
                call(|| drop(ONE_AT_A_TIME.lock().expect("no function panics")));
            });
        }
    });
}

/// Tasks that do not end, as many as there are threads, delay nobody.
#[test]
fn a_function_may_leave_tasks_behind() {
    in_time(|| {
        let (stop, stops) = channel::<()>();
        let stops = Arc::new(Mutex::new(stops));
        call(move || {
            for _ in 0..2 * rayon::current_num_threads() {
                let stops = Arc::clone(&stops);
                // The task lasts until the other end is dropped.
                rayon::spawn(move || assert!(stops.lock().expect("no task panics").recv().is_err()));
            }
        });
        for _ in 0..3 {
            let sum = Arc::new(Mutex::new(0));
            let its = Arc::clone(&sum);
            call(move || *its.lock().expect("no function panics") = rayon::join(|| 1, || 2).1);
            assert_eq!(*sum.lock().expect("no function panics"), 2);
        }
        drop(stop);
    });
}

/// The device has one stream, which is dropped by then.
#[test]
fn a_function_drops_the_last_handle_of_its_device() {
    in_time(|| {
        for _ in 0..100 {
            let device = Device::simulated(Simulation::default());
            let stream = Stream::new(&device).expect("a stream");
            let buffer = DeviceBuf::from_slice(&device, &[1.0_f32; 100]).expect("memory");
            stream.host(move || drop((buffer, device))).expect("a function");
            drop(stream);
        }
    });
}
