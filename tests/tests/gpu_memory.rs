//! A GPU's free memory. It is the whole device's, so these tests have an executable of their own, and come one after
//! another.

use std::sync::{Mutex, PoisonError};

use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::many_runs::many_runs;

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 1000;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

static ONE: Mutex<()> = Mutex::new(());

#[test]
#[ignore = "needs a CUDA device"]
fn pipelines_give_their_memory_back() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let device = Device::cuda(0).expect("a GPU");
    let run = || {
        let (x, mut y) = (vec![1.0; 100_000], vec![2.0; 100_000]);
        Saxpy::options(&device)
            .chunk(10_000)
            .build()
            .expect("the pipeline")
            .run(3.0, &x, &mut y)
            .expect("a run");
        assert_eq!(y, [5.0; 100_000]);
    };
    // The first one makes the driver load the module and fill its own pools.
    run();
    let before = device.free_memory().expect("the driver's answer");
    (0..20).for_each(|_| run());
    assert_eq!(device.free_memory().expect("the driver's answer"), before);
}

#[test]
#[ignore = "needs a CUDA device"]
fn many_runs_of_many_threads_give_their_memory_back() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let device = Device::cuda(0).expect("a GPU");
    // Libraries and modules that are loaded once are loaded now.
    many_runs(&device);
    let before = device.free_memory().expect("the driver's answer");
    many_runs(&device);
    let lost = before.saturating_sub(device.free_memory().expect("the driver's answer"));
    // What each of a thousand runs would leave behind is more.
    assert!(lost <= 4 << 20, "{lost} bytes of device memory are lost");
}
