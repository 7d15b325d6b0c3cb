//! Runs with pageable data: whatever became of the run before, a run touches only the memory that it has
//! borrowed.

use std::sync::LazyLock;
use std::time::Duration;

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::sim::DeviceModel;
use thalweg_tests::kernels::{REFUSED, double_all, plus_one, refuses};
use thalweg_tests::{leaves_nothing, numbers, small};

const ITEMS: usize = 10;

/// Devices in the order of time, where the device's copies go straight to the caller's memory, and in other
/// orders.
fn on_many_devices(check: impl Fn(&Device)) {
    for seed in 0..6 {
        let spec = if seed == 0 { Simulation::default() } else { Simulation::default().adversarial(seed) };
        let device = small(spec);
        leaves_nothing(&device, || check(&device));
    }
}

fn looks_at(h: &[i32], worst: i32) {
    assert_ne!(h[0], worst, "it is the worst");
}

stream_pipeline! {
    /// Fails in a kernel, or on the CPU.
    pipeline Fragile {
        param worst: i32;
        input x: [i32];
        output y: [i32];
        device dy: [i32];
        host h: [i32];
        chunk c = ITEMS;
        stage load { copy x -> dx; }
        stage check { copy dx -> h; host looks_at(&h, worst); }
        stage work { refuses<<<1, 32>>>(c.len as u32, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}

/// After each way to fail the memory is freed and given to others, and runs of other lengths follow.
#[test]
fn what_a_failed_run_had_borrowed_is_left_alone() {
    on_many_devices(|device| {
        for graph in [false, true] {
            let options = Fragile::options(device);
            let mut pipeline = if graph { options.graph().build() } else { options.build() }.unwrap();
            for (worst, refused) in [(30, None), (REFUSED, Some(25)), (0, None), (REFUSED, Some(0))] {
                let mut x: Vec<i32> = (0..95).collect();
                if let Some(refused) = refused {
                    x[refused] = REFUSED;
                }
                let mut y = vec![-1; 95];
                let error = pipeline.run(worst, &x, &mut y).unwrap_err();
                let expected = if refused.is_some() { "HostBody" } else { "HostFunction" };
                assert!(format!("{:?}", error.detail()).starts_with(expected), "{error:?}");
                let complete = error.complete()[0].items;
                assert!(y[..complete].iter().zip(&x).all(|(y, x)| *y == x + 1));
                drop((x, y));
                // This is most likely at the same address.
                let others: Vec<Vec<i32>> = (0..4).map(|_| vec![77; 95]).collect();
                for len in [1, 0, 11, 39, 95] {
                    let x: Vec<i32> = (0..len).map(|i| 100 + i).collect();
                    let mut y = vec![-1; x.len()];
                    pipeline.run(-1, &x, &mut y).unwrap();
                    assert!(y.iter().zip(&x).all(|(y, x)| *y == x + 1), "{len}");
                    assert!(others.iter().flatten().all(|other| *other == 77), "{len}");
                }
            }
        }
    });
}

stream_pipeline! {
    /// A chunk loads again what it has stored, in a buffer that is handed on.
    pipeline Again {
        inout y: [f32];
        chunk c = ITEMS;
        stage first { copy y -> a; double_all<<<1, 32>>>(c.len as u32, &mut a); copy a -> y; }
        stage second { copy y -> b; double_all<<<1, 32>>>(c.len as u32, &mut b); }
        stage third { copy b -> y; copy y -> a; }
        stage fourth { double_all<<<1, 32>>>(c.len as u32, &mut a); copy a -> y; }
    }
}

#[test]
fn there_and_back_again() {
    on_many_devices(|device| {
        for graph in [false, true] {
            let options = Again::options(device);
            let mut pipeline = if graph { options.graph().build() } else { options.build() }.unwrap();
            for len in [55, 1, 0, 31, 120, 9] {
                let mut y = numbers(len);
                pipeline.run(&mut y).unwrap();
                assert!(y.iter().zip(numbers(len)).all(|(y, x)| *y == 8.0 * x), "{len}, graph: {graph}");
            }
        }
    });
}

/// Only some of the slots can be allocated.
#[test]
fn a_run_after_one_for_which_there_was_no_memory() {
    on_many_devices(|device| {
        let mut pipeline = Again::options(device).chunk(100_000).build().unwrap();
        for len in [10, 100_000, 20, 100_000, 5] {
            let mut y = numbers(len);
            let result = pipeline.run(&mut y);
            let factor = if len == 100_000 {
                let error = result.unwrap_err();
                assert!(matches!(error.detail(), Detail::OutOfPinnedMemory { .. }), "{error}");
                1.0
            } else {
                result.unwrap();
                8.0
            };
            assert!(y.iter().zip(numbers(len)).all(|(y, x)| *y == factor * x), "{len}");
        }
    });
}

stream_pipeline! {
    /// Several operations load or store the same data, some of them in some chunks only.
    pipeline Now {
        param every: usize;
        inout y: [f32];
        device t: [f32];
        chunk c = ITEMS;
        stage load { copy y -> dy; }
        stage one { plus_one<<<1, 32>>>(c.len as u32, &dy, out t); }
        stage early { if c.index % every == 0 { copy t -> y; } }
        stage reload { if c.index % 2 == 0 { copy y -> dy; } }
        stage two { double_all<<<1, 32>>>(c.len as u32, &mut dy); }
        stage late { if c.index % every != 1 { copy dy -> y; } }
    }
}

#[test]
fn copies_that_some_chunks_leave_out() {
    on_many_devices(|device| {
        for graph in [false, true] {
            let options = Now::options(device);
            let mut pipeline = if graph { options.graph().build() } else { options.build() }.unwrap();
            for (every, len) in [(1, 61), (2, 61), (3, 100), (4, 7), (5, 0), (4, 120)] {
                let mut y = numbers(len);
                pipeline.run(every, &mut y).unwrap();
                for (i, (y, x)) in y.iter().zip(numbers(len)).enumerate() {
                    let chunk = i / ITEMS;
                    let early = if chunk.is_multiple_of(every) { x + 1.0 } else { x };
                    let loaded = if chunk.is_multiple_of(2) { early } else { x };
                    let late = if chunk % every != 1 { 2.0 * loaded } else { early };
                    assert_eq!(*y, late, "item {i} of {len}, every {every}, graph: {graph}");
                }
            }
        }
    });
}

/// Each thread's waits carry out the other's copies.
#[test]
fn threads_that_share_a_device() {
    on_many_devices(|device| {
        std::thread::scope(|scope| {
            for thread in 0..3_i32 {
                scope.spawn(move || {
                    for round in 0..8 {
                        let mut pipeline = Fragile::new(device).unwrap();
                        for len in [55, 1, (round * 13 + thread) % 64] {
                            let mut x: Vec<i32> = (0..len).map(|i| 1000 * thread + i + 1).collect();
                            let fails = (round + thread) % 3 == 0 && len > 20;
                            if fails {
                                x[15] = REFUSED;
                            }
                            let mut y = vec![-1; x.len()];
                            let result = pipeline.run(-1, &x, &mut y);
                            assert_eq!(result.is_err(), fails, "{result:?}");
                            assert!(fails || y.iter().zip(&x).all(|(y, x)| *y == x + 1));
                        }
                    }
                });
            }
        });
    });
}

#[test]
fn calibrating_beside_a_run_disturbs_neither() {
    let mut spec = Simulation::default();
    spec.model.launch_latency = Duration::from_micros(50);
    for spec in [spec.clone(), spec.adversarial(3)] {
        let device = Device::simulated(spec);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let found = device.calibrate().unwrap();
                assert!(found.to_device > 0.0 && found.duplex > 0.0, "{found:?}");
            });
            for _ in 0..5 {
                let mut y = numbers(1000);
                Again::options(&device).chunk(30).build().unwrap().run(&mut y).unwrap();
                assert!(y.iter().zip(numbers(1000)).all(|(y, x)| *y == 8.0 * x));
            }
        });
    }
}

static SHARED: LazyLock<Device> = LazyLock::new(|| Device::simulated(Simulation::default()));

fn calibrates(_: &mut [i32]) -> Result<(), String> {
    SHARED.calibrate().map(drop).map_err(|error| error.to_string())
}

stream_pipeline! {
    pipeline Inside {
        input x: [i32];
        host h: [i32];
        stage all { copy x -> dx; copy dx -> h; host calibrates(&mut h); }
    }
}

/// Nothing can be waited for there: so nothing is begun, and no memory is lost.
#[test]
fn calibrating_inside_a_run_is_refused() {
    let free = SHARED.free_memory().unwrap();
    let error = Inside::new(&SHARED).unwrap().run(&[1, 2, 3]).unwrap_err();
    assert!(error.to_string().contains("CUDA_ERROR_NOT_PERMITTED"), "{error}");
    assert_eq!(SHARED.free_memory().unwrap(), free);
}

/// No device refuses the rates of a spec, and nothing hangs, overflows or divides by them. A file has only
/// possible rates.
#[test]
fn devices_that_cannot_exist() {
    let rates = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 5e-324, f64::MAX];
    let times = [Duration::ZERO, Duration::MAX, Duration::from_nanos(1)];
    for (rate, time) in rates.into_iter().flat_map(|rate| times.map(|time| (rate, time))) {
        let mut spec = DeviceModel::t4();
        (spec.to_device, spec.to_host, spec.duplex) = (rate, rate, rate);
        (spec.memory_rate, spec.host_memcpy) = (rate, rate);
        (spec.copy_latency, spec.launch_latency, spec.event_latency) = (time, time, time);
        (spec.host_latency, spec.signal_latency) = (time, time);
        (spec.host_call, spec.event_call, spec.graph_launch, spec.graph_update) = (time, time, time, time);
        (spec.multiprocessors, spec.max_shared, spec.concurrent_kernels) = (0, 0, 0);
        (spec.cache, spec.priorities, spec.memory) = (u64::MAX, (i32::MIN, i32::MAX), u64::MAX);
        (spec.compute_capability, spec.pinned_memory) = ((u32::MAX, u32::MAX), 5 << 20);
        let device = Device::simulated(spec.clone());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spec");
        let measured = device.calibrate().unwrap();
        for (spec, is_in_range) in [(spec, rate >= 0.0), (measured, true)] {
            assert!(spec.save(&path).is_err() && !path.exists(), "the priorities cannot be");
            let mut saved = spec.clone();
            (saved.duplex, saved.concurrent_kernels, saved.priorities) = (1.0, 1, (i32::MAX, i32::MIN));
            assert_eq!(saved.save(&path).is_ok(), is_in_range, "{saved:?}");
            if is_in_range {
                assert_eq!(DeviceModel::load(&path).unwrap(), saved);
                std::fs::remove_file(&path).unwrap();
            }
            for device in
                [Device::simulated(spec.clone()), Device::simulated(Simulation::from(spec).adversarial(1))]
            {
                let mut y = PinnedBuf::from_slice(&device, &numbers(100_000)).unwrap();
                for graph in [false, true] {
                    let options = Auto::options(&device);
                    let mut pipeline = if graph { options.graph().build() } else { options.build() }.unwrap();
                    let chunks = (0..2).map(|_| pipeline.run(&mut y).unwrap().chunks).max();
                    assert!(chunks < Some(100), "{chunks:?} chunks");
                }
                assert!(y.iter().zip(numbers(100_000)).all(|(y, x)| *y == 16.0 * x));
            }
        }
    }
}

stream_pipeline! {
    pipeline Auto {
        inout y: [f32];
        chunk c = auto;
        stage load { copy y -> dy; }
        stage work { double_all<<<blocks(c.len, 256), 256>>>(c.len as u32, &mut dy); }
        stage store { copy dy -> y; }
    }
}
