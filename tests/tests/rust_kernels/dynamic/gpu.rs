//! The same kernels on a GPU.

use thalweg::prelude::*;
use thalweg::streams::Stream;

use super::Smoothed;
use super::kernels::{ASKS, FILE, asks, bytes_of_several, copies, several, turned, used};
use crate::both::gpu_and_simulated;

#[test]
#[ignore = "needs a CUDA device"]
fn shared_slices_have_the_same_bits() {
    let x: Vec<f32> = (0..100_003).map(|i| (i as f32 * 0.37).sin()).collect();
    let bytes: Vec<u8> = (0..5000_u32).map(|i| (i * i % 251) as u8).collect();
    let [gpu, simulated] = gpu_and_simulated(Simulation::h200()).map(|device| {
        let stream = Stream::new(&device).unwrap();
        let mut smoothed = Vec::new();
        let mut pipeline = Smoothed::new(&device).unwrap();
        // The last one needs more than 48 KiB.
        for radius in [0, 1, 100, 6000] {
            let mut y = vec![0.0_f32; x.len()];
            pipeline.run(radius, &x, &mut y).unwrap();
            smoothed.extend(y.into_iter().map(f32::to_bits));
        }
        let on_device = DeviceBuf::from_slice(&device, &bytes).unwrap();
        let mut y = DeviceBuf::<u64>::zeroed(&device, 2048).unwrap();
        let needed = bytes_of_several(777, 256) as u32;
        let kernel = several::load(&device).unwrap();
        kernel.launch(stream.config(8, 256, needed), 777, &on_device, &mut y).unwrap();
        let mut numbers = DeviceBuf::<i32>::zeroed(&device, 512).unwrap();
        let kernel = used::load(&device).unwrap();
        kernel.launch(stream.config(2, 256, 4 * (301 + 151)), 301, &mut numbers).unwrap();
        let kernel = copies::load(&device).unwrap();
        let counts = [0, 16, 40, 128, 100 << 10].map(|shared| {
            let mut counts = DeviceBuf::<u32>::zeroed(&device, 4).unwrap();
            kernel.launch(stream.config(16, 256, shared), &on_device, &mut counts).unwrap();
            counts.to_vec().unwrap()
        });
        let words: Vec<u32> = (0..1024).collect();
        let words = DeviceBuf::from_slice(&device, &words).unwrap();
        let mut about = DeviceBuf::<u32>::zeroed(&device, 1024).unwrap();
        let kernel = turned::load(&device).unwrap();
        kernel.launch(stream.config(4, 256, 1024), false, &words, &mut about).unwrap();
        (smoothed, y.to_vec().unwrap(), numbers.to_vec().unwrap(), counts, about.to_vec().unwrap())
    });
    assert_eq!(gpu, simulated);
}

/// All blocks end at the slice, the error has the numbers, and the device goes on.
#[test]
#[ignore = "needs a CUDA device"]
fn too_little_shared_memory_is_a_fault_with_its_numbers() {
    let device = Device::cuda(0).expect("a GPU");
    let stream = Stream::new(&device).unwrap();
    let kernel = asks::load(&device).unwrap();
    let mut y = DeviceBuf::<u64>::zeroed(&device, 200).unwrap();
    for (first, second, shared, line, expected) in [
        (5, 5, 40, 1, "the shared slices need 48 bytes, and the launch gives 40\n"),
        (41, 5, 40, 0, "the shared slices need 41 bytes, and the launch gives 40\n"),
        (5, 5, 0, 0, "the shared slices need 5 bytes, and the launch gives 0\n"),
        (5, 0, 40, 1, "the length of a shared slice is 0"),
        (5, 1 << 29, 40, 1, "the shared slices need 4 GiB or more, and the launch gives 40 bytes\n"),
        (5, (1 << 61) + 1, 40, 1, "the shared slices need 4 GiB or more, and the launch gives 40 bytes\n"),
    ] {
        kernel.launch(stream.config(200, 64, shared), first, second, &mut y).unwrap();
        let said = stream.synchronize().unwrap_err().to_string();
        assert!(said.starts_with(&format!("kernel `asks` failed at {FILE}:{}: ", ASKS[line])), "{said}");
        assert!(said.contains(expected), "{said}");
        // More than needs no opt-in.
        kernel.launch(stream.config(200, 4, 160_008), 5, 20_000, &mut y).unwrap();
        assert_eq!(y.to_vec().unwrap(), [6; 200]);
    }
}
