//! Operations of warps, on the simulated device and on a GPU.

pub(crate) mod kernels;

use thalweg::half::bf16;
use thalweg::prelude::*;
use thalweg::streams::Stream;

use crate::both::{gpu_and_simulated, simulated};
use kernels::{appended, beyond, exchanged, of_sizes};

const SHAPES: [(usize, u32); 7] = [(1, 1), (2, 7), (1, 32), (2, 33), (3, 100), (1, 257), (1, 1024)];

fn words(len: usize) -> Vec<u32> {
    (0..len as u32).map(|i| (i.wrapping_mul(0x9e37_79b9) ^ i) >> 8).collect()
}

/// What `exchanged` gives a lane of a warp with these values.
fn expected(warp: &[u32], number: usize, lane: usize, by: usize) -> [u32; 10] {
    let (own, count) = (warp[lane], warp.len());
    let or_own = |exists: bool, at: usize| if exists { warp[at] } else { own };
    let odd = (0..count).filter(|&lane| warp[lane] % 2 == 1).fold(0, |bits, lane| bits | 1 << lane);
    let multiples = warp.iter().filter(|x| **x % 61 == 0).count();
    [
        warp[own as usize % count],
        or_own(lane >= by, lane.wrapping_sub(by)),
        or_own(lane + by < count, lane + by),
        or_own(lane ^ by < count, lane ^ by),
        odd,
        u32::from(multiples > 0) + 2 * u32::from(multiples == 0),
        warp.iter().copied().max().unwrap(),
        // The function is not associative: another order would give another number.
        scanned(warp, lane, 16),
        (number * 100 + lane) as u32,
        count as u32,
    ]
}

/// What a lane has after the step of so many lanes.
fn scanned(warp: &[u32], lane: usize, by: usize) -> u32 {
    if by == 0 {
        return warp[lane];
    }
    let own = scanned(warp, lane, by / 2);
    match lane.checked_sub(by) {
        Some(before) => scanned(warp, before, by / 2).wrapping_mul(3).wrapping_add(own),
        None => own,
    }
}

#[test]
fn lanes_exchange_values() {
    let (device, stream) = simulated();
    let kernel = exchanged::load(&device).unwrap();
    for (blocks, threads) in SHAPES {
        let x = words(blocks * threads as usize);
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        for by in [0, 1, 5, 16, 31, 32, 33, usize::MAX] {
            let mut y = DeviceBuf::<u32>::zeroed(&device, 10 * x.len()).unwrap();
            kernel.launch(stream.config(blocks as u32, threads, 0), by, &on_device, &mut y).unwrap();
            let y = y.to_vec().unwrap();
            let mut found = y.chunks(10);
            for block in x.chunks(threads as usize) {
                for (number, warp) in block.chunks(32).enumerate() {
                    for lane in 0..warp.len() {
                        // A distance beyond all warps is one of 64.
                        let expected = expected(warp, number, lane, by.min(64));
                        assert_eq!(found.next().unwrap(), expected, "{threads}, {by}, lane {lane}");
                    }
                }
            }
        }
    }
}

#[test]
fn values_have_any_size() {
    let (device, stream) = simulated();
    let kernel = of_sizes::load(&device).unwrap();
    let x: Vec<f64> = (0..80).map(|i| (f64::from(i) * 0.7).sin()).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    let mut y = DeviceBuf::<f64>::zeroed(&device, 320).unwrap();
    kernel.launch(stream.config(2, 40, 0), &on_device, &mut y).unwrap();
    let y = y.to_vec().unwrap();
    let warps = x.chunks(40).flat_map(|block| block.chunks(32).zip([0, 32]));
    let mut found = y.chunks(4);
    for (warp, first) in warps {
        // 16, 8, 4, 2 and 1 lanes apart.
        let mut sums = warp.to_vec();
        for by in [16, 8, 4, 2, 1] {
            for at in by..sums.len() {
                sums[at - by] += sums[at];
            }
            sums.truncate(by);
        }
        for lane in 0..warp.len() {
            let found = found.next().unwrap();
            assert_eq!(found[0], sums[0]);
            let across = if lane ^ 3 < warp.len() { lane ^ 3 } else { lane };
            assert_eq!(found[1], bf16::from_f32(warp[across] as f32).to_f64());
            let down = if lane + 1 < warp.len() { lane + 1 } else { lane };
            assert_eq!(found[2], f64::from(warp[down] as i8) + (first + down) as f64);
            let product: f64 = warp[..=lane].iter().product();
            assert!((found[3] - 1.0 - product).abs() < 1e-6, "{} is not {product}", found[3] - 1.0);
        }
    }
}

#[test]
fn a_warp_appends_what_its_threads_choose() {
    let (device, stream) = simulated();
    let kernel = appended::load(&device).unwrap();
    let x: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.37).sin()).collect();
    let mut expected: Vec<f32> = x.iter().copied().filter(|x| *x > 0.5).collect();
    let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
    for threads in [1, 40, 128] {
        let mut next = DeviceBuf::<u32>::zeroed(&device, 1).unwrap();
        let mut kept = DeviceBuf::<f32>::zeroed(&device, expected.len()).unwrap();
        let config = stream.config(blocks(x.len(), threads), threads, 0);
        kernel.launch(config, 0.5, &on_device, &mut next, &mut kept).unwrap();
        assert_eq!(next.to_vec().unwrap(), [expected.len() as u32]);
        let mut kept = kept.to_vec().unwrap();
        // Blocks come in any order.
        kept.sort_by(f32::total_cmp);
        expected.sort_by(f32::total_cmp);
        assert_eq!(kept, expected);
    }
}

#[test]
fn a_lane_that_does_not_exist_is_a_fault() {
    let (device, stream) = simulated();
    let kernel = beyond::load(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &[3_u32; 40]).unwrap();
    let zeroed = || DeviceBuf::<u32>::zeroed(&device, 40).unwrap();
    for (fails, lane, count) in [(5, 32, 32), (35, 8, 8), (39, usize::MAX, 8)] {
        let mut y = zeroed();
        kernel.launch(stream.config(1, 40, 0), fails, lane, &x, &mut y).unwrap();
        let said = stream.synchronize().unwrap_err().to_string();
        assert!(
            said.contains(&format!("no such lane: the warp has {count} but the lane is {lane}")),
            "{said}"
        );
        assert!(said.contains(&format!("it was thread {fails} of block 0")), "{said}");
        assert!(said.contains("warps/kernels.rs:"), "{said}");
    }
    let mut y = zeroed();
    kernel.launch(stream.config(1, 40, 0), 39, 7, &x, &mut y).unwrap();
    assert_eq!(y.to_vec().unwrap(), [3; 40]);
}

#[test]
#[ignore = "needs a CUDA device"]
fn warps_of_a_gpu_give_the_same_bits() {
    let [gpu, simulated] = gpu_and_simulated(Simulation::default()).map(|device| {
        let stream = Stream::new(&device).unwrap();
        let mut bits: Vec<u64> = Vec::new();
        for (blocks, threads) in SHAPES {
            let len = blocks * threads as usize;
            let on_device = DeviceBuf::from_slice(&device, &words(len)).unwrap();
            for by in [0, 1, 16, 31, 32, usize::MAX] {
                let mut y = DeviceBuf::<u32>::zeroed(&device, 10 * len).unwrap();
                let kernel = exchanged::load(&device).unwrap();
                kernel.launch(stream.config(blocks as u32, threads, 0), by, &on_device, &mut y).unwrap();
                bits.extend(y.to_vec().unwrap().into_iter().map(u64::from));
            }
            let x: Vec<f64> = (0..len).map(|i| (i as f64 * 0.7).sin()).collect();
            let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
            let mut y = DeviceBuf::<f64>::zeroed(&device, 4 * len).unwrap();
            let kernel = of_sizes::load(&device).unwrap();
            kernel.launch(stream.config(blocks as u32, threads, 0), &on_device, &mut y).unwrap();
            bits.extend(y.to_vec().unwrap().iter().map(|y| y.to_bits()));
        }
        let x: Vec<f32> = (0..100_000).map(|i| (i as f32 * 0.37).sin()).collect();
        let on_device = DeviceBuf::from_slice(&device, &x).unwrap();
        let mut next = DeviceBuf::<u32>::zeroed(&device, 1).unwrap();
        let mut kept = DeviceBuf::<f32>::zeroed(&device, x.len()).unwrap();
        let kernel = appended::load(&device).unwrap();
        kernel.launch(stream.config(1000, 100, 0), 0.5, &on_device, &mut next, &mut kept).unwrap();
        let mut kept = kept.to_vec().unwrap();
        kept.sort_by(f32::total_cmp);
        bits.extend(kept.iter().map(|kept| u64::from(kept.to_bits())));
        bits
    });
    assert_eq!(gpu, simulated);
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_lane_that_does_not_exist_is_a_fault_on_a_gpu() {
    let device = Device::cuda(0).expect("a GPU");
    let stream = Stream::new(&device).unwrap();
    let kernel = beyond::load(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &[3_u32; 40]).unwrap();
    for (fails, lane) in [(0, 32), (35, 8)] {
        let mut y = DeviceBuf::<u32>::zeroed(&device, 40).unwrap();
        kernel.launch(stream.config(1, 40, 0), fails, lane, &x, &mut y).unwrap();
        let said = stream.synchronize().unwrap_err().to_string();
        assert!(said.starts_with("kernel `beyond` failed at "), "{said}");
        // Its bytes were to be written by what has failed.
        assert!(y.to_vec().is_err());
    }
}
