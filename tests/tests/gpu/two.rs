//! Two GPUs of one process.

mod ranks;

use std::thread;

use thalweg::Device;
use thalweg_tests::two_devices::{AddTo, check_data_go_from_one_to_the_other};

const N: usize = 1 << 20;

#[test]
#[ignore = "needs two CUDA devices"]
fn data_go_from_one_to_the_other() {
    let devices = Device::all().expect("the driver");
    let [one, other, ..] = &devices[..] else { panic!("there are two") };
    check_data_go_from_one_to_the_other([one, other], N);
}

#[test]
#[ignore = "needs two CUDA devices"]
fn each_runs_pipelines_of_its_own() {
    let devices = Device::all().expect("the driver");
    assert!(devices.len() >= 2, "there are two");
    thread::scope(|scope| {
        for (index, device) in devices.iter().enumerate() {
            scope.spawn(move || {
                let mut add = AddTo::options(device).chunk(50_000).build().expect("a pipeline");
                let mut y = vec![0.0_f32; N];
                for _ in 0..10 {
                    add.run(index as f32 + 1.0, &mut y).expect("a run");
                }
                assert_eq!(y, vec![10.0 * (index as f32 + 1.0); N]);
            });
        }
    });
}
