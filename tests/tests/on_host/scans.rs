//! Scans of blocks: the C++ that is made of them gives what they give on the simulated device, whatever turns the
//! threads take.

#[path = "../rust_kernels/scans/kernels.rs"]
mod kernels;

use thalweg::prelude::*;
use thalweg_tests::on_host::Argument;

use super::blocks::{program, run, simulated, slice, slice_mut};
use kernels::{failing, maps, running, selected, sized};

const SHAPES: [(u32, u32); 8] = [(1, 1), (2, 2), (1, 31), (2, 32), (3, 33), (2, 100), (1, 257), (1, 1024)];

fn words(len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| i.wrapping_mul(0x9e37_79b9) ^ i).collect()
}

fn floats(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i as f32 * 0.7).sin() * 1e3).collect()
}

/// Compares a kernel that reads `$x` and writes so many numbers for each element of it.
macro_rules! same {
    ($kernel:ident, $x:expr, $number:ty, $count:expr) => {{
        let (device, stream) = simulated();
        let (kernel, program) = ($kernel::load(&device).unwrap(), program::<$kernel>());
        for (grid, block) in SHAPES {
            let x = $x((grid * block) as usize);
            let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
            let len = $count * x.len();
            let mut y = DeviceBuf::<$number>::zeroed(&device, len).unwrap();
            kernel.launch(stream.config(grid, block, 0), &on_device, &mut y).unwrap();
            let expected: Vec<_> = y.to_vec().unwrap().iter().map(|y| y.to_ne_bytes()).collect();
            for order in 0..4 {
                let mut found: Vec<$number> = vec![Default::default(); len];
                // Lengths are counted in elements, which are arrays.
                let written = [Argument::pointer(found.as_mut_ptr()), Argument::value(&(x.len() as u64))];
                let all = [slice(&x), written].concat();
                assert_eq!(run::<$kernel>(&program, grid, block, order, &all).faults, []);
                let found: Vec<_> = found.iter().map(|y| y.to_ne_bytes()).collect();
                assert_eq!(found, expected, "{grid} x {block}, order {order}");
            }
        }
    }};
}

#[test]
fn sums_of_floats_have_the_same_bits() {
    same!(running, floats, f32, 1);
}

#[test]
fn the_order_of_the_threads_is_the_same() {
    same!(maps, words, u32, 3);
}

#[test]
fn values_of_any_size_are_the_same() {
    same!(sized, words, u64, 4);
}

#[test]
fn what_is_kept_is_the_same() {
    let (device, stream) = simulated();
    let (kernel, program) = (selected::load(&device).unwrap(), program::<selected>());
    let x = floats(700);
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    for (part, block) in [(700, 64), (300, 33), (350, 1)] {
        let grid = x.len().div_ceil(part) as u32;
        let mut kept = DeviceBuf::<f32>::zeroed(&device, x.len()).unwrap();
        let mut counts = DeviceBuf::<u32>::zeroed(&device, grid as usize).unwrap();
        kernel
            .launch(stream.config(grid, block, 0), part, 100.0, &on_device, &mut kept, &mut counts)
            .unwrap();
        let expected = (kept.to_vec().unwrap(), counts.to_vec().unwrap());
        assert!(expected.1.iter().all(|count| *count > 40), "{:?}", expected.1);
        for order in 0..4 {
            let mut found = (vec![0.0_f32; x.len()], vec![0_u32; grid as usize]);
            let values = [Argument::value(&(part as u64)), Argument::value(&100.0_f32)];
            let all = [&values[..], &slice(&x), &slice_mut(&mut found.0), &slice_mut(&mut found.1)].concat();
            assert_eq!(run::<selected>(&program, grid, block, order, &all).faults, []);
            assert_eq!(found, expected, "{part}, {block}, order {order}");
        }
    }
}

/// The others of the block do not wait for a thread that has failed, and combine no value of it.
#[test]
fn a_block_ends_after_a_fault_in_a_scan() {
    let (device, stream) = simulated();
    let (kernel, program) = (failing::load(&device).unwrap(), program::<failing>());
    let on_device = DeviceBuf::from_slice(&device, &[1_u32; 70]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 70).unwrap();
    kernel.launch(stream.config(1, 70, 0), &on_device, &mut y).unwrap();
    let whole = y.to_vec().unwrap();
    for len in [0, 1, 31, 40, 69, 70] {
        for order in 0..6 {
            let (x, mut y) = (vec![1_u32; len], [0_u32; 70]);
            let all = [slice(&x), slice_mut(&mut y)].concat();
            let faults = run::<failing>(&program, 1, 70, order, &all).faults;
            let mut threads: Vec<u32> = faults.iter().map(|fault| fault.thread[0]).collect();
            threads.sort_unstable();
            assert_eq!(threads, (len as u32..70).collect::<Vec<_>>(), "order {order}");
            assert!(faults.iter().all(|fault| fault.line == faults[0].line), "{faults:?}");
            assert_eq!(y.as_slice(), if len < 70 { &[0; 70] } else { &whole[..] }, "order {order}");
        }
    }
}
