//! GPUs that `CUDA_VISIBLE_DEVICES` hides: to the process, the driver has no more than the others.

use thalweg::{Device, ErrorKind};
use thalweg_tests::stubs::{Stubs, is_child};

const STUBS: Stubs = Stubs::driver(module_path!(), concat!(env!("CARGO_TARGET_TMPDIR"), "/hiding-stubs"));

/// Runs a test again where so many GPUs are left.
fn run_again(test: &str, gpus: &str, device: &str, visible: &str) -> String {
    let variables = [("THALWEG_GPUS", gpus), ("THALWEG_DEVICE", device), ("CUDA_VISIBLE_DEVICES", visible)];
    STUBS.run_again(test, &variables)
}

#[test]
fn where_all_gpus_are_hidden_the_cpu_is_taken() {
    if is_child() {
        assert!(Device::open().unwrap().is_cpu());
        let all = Device::all().unwrap();
        assert!(all.len() == 1 && all[0].is_cpu(), "{all:?}");
        return;
    }
    for visible in ["", "-1"] {
        // As CUDA's driver answers.
        let calls = run_again("where_all_gpus_are_hidden_the_cpu_is_taken", "0", "auto", visible);
        assert_eq!(calls, "cuInit -> 100\n");
    }
}

#[test]
fn a_gpu_that_is_hidden_is_not_there() {
    if is_child() {
        let (visible, count) = match std::env::var("CUDA_VISIBLE_DEVICES").unwrap().as_str() {
            "-1" => ("-1", 0),
            _ => ("3", 1),
        };
        let errors = [Device::open().err(), Device::all().err(), Device::cuda(count).err()];
        for error in errors.map(Option::unwrap) {
            assert!(matches!(error.kind(), ErrorKind::Environment(_)), "{error:?}");
            let text = error.to_string();
            let says = format!(
                "there is no CUDA device {count}: this machine has {count}\n  \
                 help: `CUDA_VISIBLE_DEVICES={visible}`\n"
            );
            assert!(text.starts_with(&says), "{text}");
        }
        return;
    }
    for (gpus, device, visible) in
        [("0", "cuda:0", "-1"), ("0", "cuda:all", "-1"), ("1", "cuda:1", "3"), ("1", "cuda:1,0", "3")]
    {
        run_again("a_gpu_that_is_hidden_is_not_there", gpus, device, visible);
    }
}
