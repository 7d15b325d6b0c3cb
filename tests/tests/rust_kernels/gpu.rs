//! Kernels in Rust on a GPU: the results are those of the simulated device, and a fault leaves the device as it
//! was.

use thalweg::prelude::*;
use thalweg::streams::Stream;

use crate::both::gpu_and_simulated;
use crate::elements::{Jacobi, Saxpy};
use crate::faults::{Gathered, LINE, OVERFLOW, Summed, summed};
use crate::in_blocks::{smooth, sums, turned, waiting};

#[test]
#[ignore = "needs a CUDA device"]
fn a_gpu_computes_the_same_bits() {
    let x: Vec<f32> = (0..100_003).map(|i| (i as f32 * 0.37).sin()).collect();
    let [gpu, simulated] = gpu_and_simulated(Simulation::default()).map(|device| {
        let mut y = x.iter().rev().copied().collect::<Vec<_>>();
        Saxpy::new(&device).unwrap().run(1.7, &x, &mut y).unwrap();
        let mut v = vec![0.0; 300 * 333];
        Jacobi::new(&device).unwrap().run(300, 333, &x[..300 * 333], &mut v).unwrap();
        (y, v)
    });
    assert_eq!(gpu, simulated);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_fault_names_its_line_and_the_device_goes_on() {
    let device = Device::cuda(0).expect("a GPU");
    let mut gathered = Gathered::new(&device).unwrap();
    let mut other = Saxpy::new(&device).unwrap();
    for _ in 0..3 {
        let mut y = [0.0; 8];
        let error = gathered.run(&[1.0, 2.0], &[0, 1, 0, 1, 1, 1, 7, 0], &mut y).unwrap_err();
        let said = error.to_string();
        let expected = format!("kernel `gathered` failed at {}:{LINE}: ", crate::faults::FILE);
        assert!(said.contains(&expected), "{said}");
        // The host has run the launch of the second chunk again.
        assert!(said.contains("the len is 2 but the index is 7\n") && said.contains("chunk 1"), "{said}");
        assert!(said.contains("it was the thread of index 2, thread 2 of block 0\n"), "{said}");
        // This pipeline goes on, and so does another one on the device.
        gathered.run(&[1.0, 2.0], &[0, 1, 0, 1, 1, 1, 0, 0], &mut y).unwrap();
        assert_eq!(y, [1.0, 2.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
        let mut y = vec![2.0; 1000];
        other.run(3.0, &[1.0; 1000], &mut y).unwrap();
        assert_eq!(y, [5.0; 1000]);
    }
}

/// Overflow is a fault in debug builds, and wraps in release builds, as in Rust.
#[test]
#[ignore = "needs a CUDA device"]
fn overflow_is_a_fault_in_debug_builds() {
    let device = Device::cuda(0).expect("a GPU");
    let mut summed = Summed::new(&device).unwrap();
    let mut y = [0; 4];
    summed.run(&[1, 2, 3, i32::MAX - 1], &mut y).unwrap();
    assert_eq!(y, [2, 3, 4, i32::MAX]);
    let outcome = summed.run(&[1, 2, 3, i32::MAX], &mut y);
    if cfg!(debug_assertions) {
        let said = outcome.unwrap_err().to_string();
        assert!(said.contains(&format!("failed at {}:{OVERFLOW}: ", crate::faults::FILE)), "{said}");
    } else {
        outcome.unwrap();
        assert_eq!(y[3], i32::MIN);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_fault_of_a_launch_by_hand_is_reported_by_the_next_wait() {
    let device = Device::cuda(0).expect("a GPU");
    let stream = Stream::new(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &[i32::MAX; 64]).unwrap();
    let mut y = DeviceBuf::<i32>::zeroed(&device, 64).unwrap();
    let kernel = summed::load(&device).unwrap();
    kernel.launch(stream.config(2, 32, 0), x.slice(..63).unwrap(), &mut y).unwrap();
    let said = stream.synchronize().unwrap_err().to_string();
    assert!(said.starts_with("kernel `summed` failed at "), "{said}");
    stream.synchronize().unwrap();
}

#[test]
#[ignore = "needs a CUDA device"]
fn blocks_compute_the_same_bits() {
    let x: Vec<f32> = (0..100_003).map(|i| (i as f32 * 0.37).sin()).collect();
    let matrix: Vec<u32> = (0..160 * 160).map(|i| (i * 7919 % 1009) as u32).collect();
    let [gpu, simulated] = gpu_and_simulated(Simulation::default()).map(|device| {
        let stream = Stream::new(&device).unwrap();
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        let mut all = Vec::new();
        for (blocks, threads) in [(1, 1), (1, 31), (3, 33), (7, 250), (132, 256)] {
            let mut y = DeviceBuf::<f32>::zeroed(&device, blocks).unwrap();
            let sums = sums::load(&device).unwrap();
            sums.launch(stream.config(blocks as u32, threads, 0), &on_device, &mut y).unwrap();
            all.extend(y.to_vec().unwrap());
        }
        let mut y = DeviceBuf::<f32>::zeroed(&device, x.len()).unwrap();
        let smooth = smooth::load(&device).unwrap();
        smooth.launch(stream.config(blocks(x.len(), 256), 256, 0), &on_device, &mut y).unwrap();
        all.extend(y.to_vec().unwrap());
        let on_device = DeviceBuf::from_slice(&device, &matrix).unwrap();
        let mut y = DeviceBuf::<u32>::zeroed(&device, 5000).unwrap();
        let turned = turned::load(&device).unwrap();
        turned.launch(stream.config(9, 64, 0), 160, &on_device, &mut y).unwrap();
        (all.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), y.to_vec().unwrap())
    });
    assert_eq!(gpu, simulated);
}

/// The others of the block do not wait for a thread that has failed, and the device goes on.
#[test]
#[ignore = "needs a CUDA device"]
fn a_block_ends_after_a_fault_of_a_thread() {
    let device = Device::cuda(0).expect("a GPU");
    let stream = Stream::new(&device).unwrap();
    let kernel = waiting::load(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &[5_u32]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 3).unwrap();
    for fails in [0, 33, 255] {
        kernel.launch(stream.config(3, 256, 0), fails, &x, &mut y).unwrap();
        let said = stream.synchronize().unwrap_err().to_string();
        assert!(said.starts_with("kernel `waiting` failed at "), "{said}");
        kernel.launch(stream.config(3, 256, 0), 999, &x, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), [5; 3]);
    }
}
