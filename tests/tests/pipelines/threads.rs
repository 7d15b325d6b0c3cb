//! Several threads of the host run pipelines on one device at once, or each on one of its own.

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::many_runs::many_runs;
use thalweg_tests::waiting::in_time;

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
