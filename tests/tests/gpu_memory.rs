//! A GPU's free memory. It is the whole device's, so this test has an executable of its own.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;

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

#[test]
#[ignore = "needs a CUDA device"]
fn pipelines_give_their_memory_back() {
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
