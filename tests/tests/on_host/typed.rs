//! Functions for several types: the C++ calls those that rustc chooses.

use thalweg::__private::Kernel;
use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;

use super::blocks::{program, run, simulated, slice, slice_mut};

#[path = "../rust_kernels/typed.rs"]
mod kernels;

use kernels::{N, between, called, results};

#[test]
fn each_type_has_its_function() {
    let (single, double, counts) = results(&Device::simulated(Simulation::default()));
    macro_rules! check {
        ($ty:ty, $expected:ident, $counts:expr) => {{
            let program = program::<called<$ty>>();
            let x: [$ty; 4] = [0.25, -2.0, 3.5, 0.125];
            for order in 0..3 {
                let (mut y, mut counts) = ([0.1 as $ty; 4], [0_u32; 4]);
                let all = [slice(&x), slice(&N), slice_mut(&mut y), slice_mut(&mut counts)].concat();
                assert_eq!(run::<called<$ty>>(&program, 1, 32, order, &all).faults, []);
                assert_eq!(y[..], $expected[..], "{}", called::<$ty>::INFO.name);
                assert_eq!(counts[..], $counts[..], "{}", called::<$ty>::INFO.name);
            }
        }};
    }
    check!(f32, single, counts[..4]);
    check!(f64, double, counts[4..]);
}

#[test]
fn a_kernel_calls_functions_of_two_types() {
    let (device, stream) = simulated();
    let (x, z) = ([0.1_f32, 3.7, 0.3, 9.0], [0.0_f64, 10.1, 20.2, 30.3]);
    let (on_x, on_z) =
        (DeviceBuf::from_slice(&device, &x).unwrap(), DeviceBuf::from_slice(&device, &z).unwrap());
    let mut y = DeviceBuf::<f64>::zeroed(&device, 4).unwrap();
    between::load(&device).unwrap().launch(stream.config(1, 32, 0), &on_x, &on_z, &mut y).unwrap();
    let program = program::<between>();
    for order in 0..3 {
        let mut found = [0.0_f64; 4];
        let all: Vec<Argument> = [slice(&x), slice(&z), slice_mut(&mut found)].concat();
        assert_eq!(run::<between>(&program, 1, 32, order, &all).faults, []);
        assert_eq!(found[..], y.to_vec().unwrap()[..]);
    }
}
