//! Scans of blocks, on the simulated device and on a GPU.

pub(crate) mod kernels;

use thalweg::half::f16;
use thalweg::prelude::*;
use thalweg::streams::Stream;

use crate::both::{gpu_and_simulated, simulated};
use kernels::{failing, maps, running, selected, sized};

const SHAPES: [(usize, u32); 9] =
    [(1, 1), (2, 2), (1, 31), (2, 32), (3, 33), (2, 64), (2, 100), (1, 257), (2, 1024)];

/// The sum up to each value, in the order that the book tells.
fn in_order(values: &[f32]) -> Vec<f32> {
    // What a lane has after the step of so many lanes.
    fn after(by: usize, lane: usize, values: &[f32]) -> f32 {
        if by == 0 {
            return values[lane];
        }
        let own = after(by / 2, lane, values);
        if lane >= by { after(by / 2, lane - by, values) + own } else { own }
    }
    let mut before: Option<f32> = None;
    let mut sums = Vec::new();
    for warp in values.chunks(32) {
        let of_warp = (0..warp.len()).map(|lane| after(16, lane, warp));
        sums.extend(of_warp.map(|sum| before.map_or(sum, |before| before + sum)));
        before = sums.last().copied();
    }
    sums
}

#[test]
fn sums_are_in_the_order_of_the_book() {
    let (device, stream) = simulated();
    let kernel = running::load(&device).unwrap();
    for (blocks, threads) in SHAPES {
        let len = blocks * threads as usize - threads as usize / 3;
        let x: Vec<f32> = (0..len).map(|i| (i as f32 * 0.7).sin() * 1e3).collect();
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        let mut y = DeviceBuf::<f32>::zeroed(&device, len).unwrap();
        kernel.launch(stream.config(blocks as u32, threads, 0), &on_device, &mut y).unwrap();
        let expected: Vec<f32> = x.chunks(threads as usize).flat_map(in_order).collect();
        assert_eq!(y.to_vec().unwrap(), expected, "{blocks} x {threads}");
    }
}

#[test]
fn what_threads_keep_has_places_in_their_order() {
    let (device, stream) = simulated();
    let kernel = selected::load(&device).unwrap();
    let x: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.37).sin()).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    for (part, threads) in [(1000, 64), (300, 33), (250, 1), (500, 512)] {
        let blocks = x.len().div_ceil(part);
        let mut kept = DeviceBuf::<f32>::zeroed(&device, x.len()).unwrap();
        let mut counts = DeviceBuf::<u32>::zeroed(&device, blocks).unwrap();
        kernel
            .launch(stream.config(blocks as u32, threads, 0), part, 0.5, &on_device, &mut kept, &mut counts)
            .unwrap();
        let mut expected = (Vec::new(), Vec::new());
        for part in x.chunks(part) {
            let mut kept: Vec<f32> = part.iter().copied().filter(|x| *x > 0.5).collect();
            expected.1.push(kept.len() as u32);
            kept.resize(part.len(), 0.0);
            expected.0.extend(kept);
        }
        assert_eq!((kept.to_vec().unwrap(), counts.to_vec().unwrap()), expected, "{part}, {threads}");
    }
}

#[test]
fn the_order_of_the_threads_is_kept() {
    let (device, stream) = simulated();
    let kernel = maps::load(&device).unwrap();
    for (blocks, threads) in SHAPES {
        let len = blocks * threads as usize;
        let x: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(0x9e37_79b9) ^ i).collect();
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        let mut y = DeviceBuf::<u32>::zeroed(&device, 3 * len).unwrap();
        kernel.launch(stream.config(blocks as u32, threads, 0), &on_device, &mut y).unwrap();
        let then = |f: (u32, u32), x: u32| {
            let g = (x | 1, x >> 16);
            (f.0.wrapping_mul(g.0), g.0.wrapping_mul(f.1).wrapping_add(g.1))
        };
        let mut expected = Vec::new();
        for block in x.chunks(threads as usize) {
            let all = block.iter().fold((3, 5), |f, x| then(f, *x));
            let (mut through, mut before) = ((1, 0), (3, 5));
            for x in block {
                through = then(through, *x);
                let of = |f: (u32, u32)| f.0.wrapping_add(f.1);
                expected.extend([of(through), of(before), of(all)]);
                before = then(before, *x);
            }
        }
        assert_eq!(y.to_vec().unwrap(), expected, "{blocks} x {threads}");
    }
}

#[test]
fn values_have_any_size() {
    let (device, stream) = simulated();
    let kernel = sized::load(&device).unwrap();
    let x: Vec<u32> = (0..64_u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    let mut y = DeviceBuf::<u64>::zeroed(&device, 256).unwrap();
    kernel.launch(stream.config(2, 32, 0), &on_device, &mut y).unwrap();
    let y = y.to_vec().unwrap();
    for (block, x) in x.chunks(32).enumerate() {
        let square = |x: &u32| u64::from(*x) * u64::from(*x);
        let all = x.iter().fold(u64::MAX, |sum, x| sum.wrapping_add(square(x)));
        for at in 0..32 {
            let (before, through) = (&x[..at], &x[..=at]);
            let greatest = through.iter().map(|x| *x as i8).max().unwrap().wrapping_sub(1);
            let any = before.iter().any(|x| x % 37 == 5);
            let of_xor = through.iter().fold(0, |a, x| a ^ *x as u8);
            let sum = before.iter().fold(u64::MAX, |sum, x| sum.wrapping_add(square(x)));
            let found = &y[(block * 32 + at) * 4..][..4];
            assert_eq!(found[0], u64::from(greatest as u8) * 2 + u64::from(any), "{block}, {at}");
            let bytes = u64::from(of_xor) + 256 * (at as u64 + 1) + 65536 * at as u64;
            assert_eq!(found[1], bytes, "{block}, {at}");
            let half = f16::from_bits(found[2] as u16).to_f32();
            let exact: f32 = through.iter().map(|x| (x % 7) as f32 / 3.0).sum();
            assert!((half - exact).abs() <= exact / 100.0, "{half} is not {exact}");
            assert_eq!(found[3], sum ^ all.rotate_left(7), "{block}, {at}");
        }
    }
}

#[test]
fn a_thread_without_a_value_is_named() {
    let (device, stream) = simulated();
    let kernel = failing::load(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &[1_u32; 40]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(&device, 40).unwrap();
    kernel.launch(stream.config(1, 64, 0), &x, &mut y).unwrap();
    let said = stream.synchronize().unwrap_err().to_string();
    assert!(said.contains("the len is 40 but the index is 40"), "{said}");
    assert!(said.contains("it was thread 40 of block 0"), "{said}");
    // An overflow is that of the thread that combines.
    let x = DeviceBuf::from_slice(&device, &[1 << 30; 4]).unwrap();
    kernel.launch(stream.config(1, 4, 0), &x, &mut y).unwrap();
    let outcome = stream.synchronize();
    match cfg!(debug_assertions) {
        true => assert!(outcome.unwrap_err().to_string().contains("it was thread 3 of block 0")),
        false => outcome.unwrap(),
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_gpu_scans_the_same_bits() {
    let [gpu, simulated] = gpu_and_simulated(Simulation::default()).map(|device| {
        let stream = Stream::new(&device).unwrap();
        let mut bits: Vec<u64> = Vec::new();
        for (blocks, threads) in SHAPES {
            let len = blocks * threads as usize;
            let config = || stream.config(blocks as u32, threads, 0);
            let floats: Vec<f32> = (0..len).map(|i| (i as f32 * 0.7).sin() * 1e3).collect();
            let words: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(0x9e37_79b9) ^ i).collect();
            let floats = DeviceBuf::from_slice(&device, &floats).unwrap();
            let words = DeviceBuf::from_slice(&device, &words).unwrap();
            let mut sums = DeviceBuf::<f32>::zeroed(&device, len).unwrap();
            running::load(&device).unwrap().launch(config(), &floats, &mut sums).unwrap();
            bits.extend(sums.to_vec().unwrap().iter().map(|sum| u64::from(sum.to_bits())));
            let mut kept = DeviceBuf::<f32>::zeroed(&device, len).unwrap();
            let mut counts = DeviceBuf::<u32>::zeroed(&device, blocks).unwrap();
            let part = len / blocks;
            let kernel = selected::load(&device).unwrap();
            kernel.launch(config(), part, 0.5, &floats, &mut kept, &mut counts).unwrap();
            bits.extend(kept.to_vec().unwrap().iter().map(|kept| u64::from(kept.to_bits())));
            bits.extend(counts.to_vec().unwrap().into_iter().map(u64::from));
            let mut three = DeviceBuf::<u32>::zeroed(&device, 3 * len).unwrap();
            maps::load(&device).unwrap().launch(config(), &words, &mut three).unwrap();
            bits.extend(three.to_vec().unwrap().into_iter().map(u64::from));
            let mut four = DeviceBuf::<u64>::zeroed(&device, 4 * len).unwrap();
            sized::load(&device).unwrap().launch(config(), &words, &mut four).unwrap();
            bits.extend(four.to_vec().unwrap());
        }
        bits
    });
    assert_eq!(gpu, simulated);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_block_of_a_gpu_ends_after_a_fault_in_a_scan() {
    let device = Device::cuda(0).expect("a GPU");
    let stream = Stream::new(&device).unwrap();
    let kernel = failing::load(&device).unwrap();
    for len in [0, 1, 40, 63] {
        let x = DeviceBuf::from_slice(&device, &vec![1_u32; len]).unwrap();
        let mut y = DeviceBuf::<u32>::zeroed(&device, 64).unwrap();
        kernel.launch(stream.config(1, 64, 0), &x, &mut y).unwrap();
        let said = stream.synchronize().unwrap_err().to_string();
        assert!(said.starts_with("kernel `failing` failed at "), "{said}");
        // Its bytes were to be written by what has failed.
        assert!(y.to_vec().is_err());
        // The kernel and the device go on.
        let x = DeviceBuf::from_slice(&device, &[1_u32; 64]).unwrap();
        let mut y = DeviceBuf::<u32>::zeroed(&device, 64).unwrap();
        kernel.launch(stream.config(1, 64, 0), &x, &mut y).unwrap();
        assert!(y.to_vec().unwrap().iter().all(|&y| y > 0));
    }
}
