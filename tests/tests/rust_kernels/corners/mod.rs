//! Corners of Rust that C++ has in another way, or not at all: the C++ is compiled, and gives the same bits.

mod meant;
mod names;
mod order;
mod references;
mod slices;
mod values;

use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;

use super::both::{assert_same, run, simulated, slice};

/// What the kernels below read.
const X: [u64; 8] = [3, 1, 7, u64::MAX, 1 << 63, 255, 256, 3_000_000_000];

/// Runs a kernel that has `n`, `x` and a number for each thread on the simulated device and as C++ on the host, and
/// gives what both have written.
macro_rules! both {
    ($kernel:path, $n:expr) => {{
        let (device, stream) = $crate::corners::simulated();
        let mut on_device = DeviceBuf::from_slice(&device, &[0_u64; 40]).unwrap();
        let x = DeviceBuf::from_slice(&device, &$crate::corners::X).unwrap();
        let kernel = <$kernel>::load(&device).unwrap();
        kernel.launch(stream.config(2, 32, 0), $n, &x, &mut on_device).unwrap();
        $crate::corners::same::<$kernel>($n, &on_device.to_vec().unwrap())
    }};
}
use both;

/// Runs the C++ of a kernel, which has to give these numbers, of which all are the same.
#[track_caller]
fn same<K: thalweg::__private::Kernel>(n: u32, native: &[u64]) -> u64 {
    let mut in_cpp = vec![0_u64; native.len()];
    run::<K>(
        in_cpp.len(),
        &[&[Argument::value(&n)][..], &slice(&mut X.clone()), &slice(&mut in_cpp)].concat(),
    );
    assert_same(native, &in_cpp);
    assert!(native.iter().all(|value| *value == native[0]), "{native:?}");
    native[0]
}

/// The same on a GPU.
#[test]
#[ignore = "needs a CUDA device"]
fn a_gpu_computes_the_same_bits() {
    macro_rules! on_both {
        ($($kernel:path),*) => {$({
            let [gpu, simulated] = [Device::cuda(0).unwrap(), Device::simulated(Simulation::default())].map(|device| {
                let stream = thalweg::streams::Stream::new(&device).unwrap();
                let x = DeviceBuf::from_slice(&device, &X).unwrap();
                let mut y = DeviceBuf::from_slice(&device, &[0_u64; 40]).unwrap();
                let kernel = <$kernel>::load(&device).unwrap();
                kernel.launch(stream.config(2, 32, 0), 3, &x, &mut y).unwrap();
                y.to_vec().unwrap().to_vec()
            });
            assert_eq!(gpu, simulated, stringify!($kernel));
        })*};
    }
    on_both!(slices::coerced, slices::joined, slices::empty, references::temporaries, references::escaping);
    on_both!(
        references::lent_elements,
        references::behind_two,
        references::ordered,
        order::of_traits,
        order::of_rows
    );
    on_both!(meant::early, meant::behind::lengths, meant::scoped);
    on_both!(references::nested, order::lent, values::tuples, values::literals, values::left);
    on_both!(values::tabled);
    on_both!(names::exp, names::min, names::printf, names::TW_FN, names::local);
}
