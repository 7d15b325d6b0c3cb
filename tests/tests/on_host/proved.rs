//! Kernels in which some checks are left out since they cannot fail: data for which another check fails still
//! end the thread, at the same line as on the simulated device.

use thalweg::__private::{Kernel, KernelSource};
use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;

use super::blocks::{program, run, simulated, slice, slice_mut};

#[path = "../rust_kernels/proved.rs"]
mod kernels;

use kernels::{too_far, with_checks, without_checks};

fn text<K: Kernel>() -> String {
    let KernelSource::Rust(source) = K::INFO.module.source else { panic!("the kernel is in Rust") };
    let text = source.joined();
    text[text.find("namespace in_rust_0").expect("the kernel")..].to_owned()
}

#[test]
fn what_is_proved_has_no_check() {
    let text = text::<without_checks>();
    assert!(!text.contains(".at("), "{text}");
    assert!(text.contains("y{y_data, x_len}") && text.contains("x.data[i]"), "{text}");
    let (device, stream) = simulated();
    let (kernel, program) = (without_checks::load(&device).unwrap(), program::<without_checks>());
    for len in [1, 2, 3, 5, 40, 100] {
        let x: Vec<u32> = (0..len).map(|i| i * 7919 % 1009).collect();
        let z: Vec<u32> = (0..len + 3).map(|i| i * 104_729 % 2003).collect();
        let mut y = DeviceBuf::<u32>::zeroed(&device, len as usize).unwrap();
        let [on_x, on_z] = [&x, &z].map(|data| DeviceBuf::from_slice(&device, data).unwrap());
        kernel.launch(stream.config(2, 64, 0), &on_x, &on_z, &mut y).unwrap();
        let mut found = vec![0_u32; len as usize];
        let all: Vec<Argument> = [slice(&x), slice(&z), slice_mut(&mut found)].concat();
        assert_eq!(run::<without_checks>(&program, 2, 64, 0, &all).faults, []);
        assert_eq!(found, y.to_vec().unwrap(), "{len}");
    }
}

#[test]
fn what_is_not_proved_still_faults() {
    let program = program::<with_checks>();
    let mut tried = [0; 10];
    for way in 0..10_u32 {
        for n in [0, 1, 2, 5, 6, 7, 8, 9] {
            for z_len in [3, 8] {
                let x: Vec<u32> = (1..=7).collect();
                let z: Vec<u32> = (0..z_len).collect();
                // A device that has failed is of no further use.
                let (device, stream) = simulated();
                let kernel = with_checks::load(&device).unwrap();
                let mut y = DeviceBuf::<u32>::zeroed(&device, 7).unwrap();
                let [on_x, on_z] = [&x, &z].map(|data| DeviceBuf::from_slice(&device, data).unwrap());
                let launched = kernel.launch(stream.config(1, 32, 0), way, n, &on_x, &on_z, &mut y);
                let outcome = launched.and_then(|()| y.to_vec());
                let mut found = vec![0_u32; 7];
                let values = [Argument::value(&way), Argument::value(&(n as u64))];
                let all: Vec<Argument> =
                    [&values[..], &slice(&x), &slice(&z), &slice_mut(&mut found)].concat();
                let faults = run::<with_checks>(&program, 1, 32, 0, &all).faults;
                match outcome {
                    Ok(expected) => {
                        assert_eq!(faults, [], "{way}, {n}, {z_len}");
                        assert_eq!(found, expected, "{way}, {n}, {z_len}");
                    }
                    Err(error) => {
                        let first = faults.first().unwrap_or_else(|| panic!("{way}, {n}, {z_len}: {error}"));
                        let line = format!("proved.rs:{}:", first.line);
                        assert!(error.to_string().contains(&line), "{line} of {error}");
                        tried[way as usize] += 1;
                    }
                }
            }
        }
    }
    assert!(tried.iter().all(|&faults| faults > 0), "each way has failed for some data: {tried:?}");
}

#[test]
fn one_beyond_what_is_required_still_faults() {
    let text = text::<too_far>();
    assert_eq!((text.matches("x.data[").count(), text.matches("x.at(").count()), (1, 2), "{text}");
    let program = program::<too_far>();
    let x = [1_u32, 2, 4, 8];
    for (n, faults) in [(0_u64, 0), (1, 0), (2, 3), (3, 3), (4, 0)] {
        let mut y = [0_u32; 3];
        let all: Vec<Argument> = [&[Argument::value(&n)][..], &slice(&x)[..], &slice_mut(&mut y)].concat();
        assert_eq!(run::<too_far>(&program, 1, 32, 0, &all).faults.len(), faults, "{n}");
    }
}
