//! Shared memory that is combined step by step: the C++ gives what the simulated device gives.

use thalweg::prelude::*;

use super::blocks::{program, run, simulated, slice, slice_mut};

#[path = "../rust_kernels/tree.rs"]
mod kernels;

use kernels::largest;

#[test]
fn a_tree_of_phases_gives_the_block_one_element() {
    let (device, stream) = simulated();
    let (kernel, program) = (largest::load(&device).unwrap(), program::<largest>());
    for len in [1_usize, 256, 700] {
        let x: Vec<f32> = (0..len).map(|i| (i as f32 * 0.37).sin() - 2.0).collect();
        let on_x = DeviceBuf::from_slice(&device, &x).unwrap();
        let mut tops = DeviceBuf::<f32>::zeroed(&device, len.div_ceil(256)).unwrap();
        let blocks = blocks(len, 256);
        kernel.launch(stream.config(blocks, 256, 0), &on_x, &mut tops).unwrap();
        for order in 0..4 {
            let mut found = vec![0.0_f32; tops.len()];
            let all = [slice(&x), slice_mut(&mut found)].concat();
            assert_eq!(run::<largest>(&program, blocks, 256, order, &all).faults, []);
            assert_eq!(found, tops.to_vec().unwrap(), "{len}");
        }
    }
}
