//! Fills in two halves, on the simulated device and on a GPU.

pub(crate) mod kernels;

use thalweg::kernel::Shaped;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::{assert_said, on_each_device};

use kernels::{product, reversed, turned};

on_each_device! {
    what_is_fetched_is_written_later;
    products_with_strips_fetched_ahead_are_those_of_loops;
    a_fault_of_a_fetch_ends_the_block;
    what_is_fetched_may_be_overwritten;
}

fn what_is_fetched_is_written_later(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = turned::load(device).unwrap();
    let x: Vec<u32> = (0..100_u32).map(|i| i.wrapping_mul(0x9e37_79b9) >> 7).collect();
    let on_device = DeviceBuf::from_slice(device, &x).unwrap();
    for rounds in [0, 1, 2, 7] {
        let mut ring = x.clone();
        for _ in 0..rounds {
            ring = (0..100).map(|i| ring[(i + 1) % 100].wrapping_mul(3) ^ i as u32).collect();
        }
        let mut y = DeviceBuf::<u32>::zeroed(device, 96).unwrap();
        kernel.launch(stream.config(2, 48, 0), rounds, &on_device, &mut y).unwrap();
        for (i, y) in y.to_vec().unwrap().into_iter().enumerate() {
            assert_eq!(y, ring[i % 48].wrapping_sub(ring[99 - i % 48]), "{rounds} rounds, at {i}");
        }
    }
}

fn products_with_strips_fetched_ahead_are_those_of_loops(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = product::load(device).unwrap();
    for [m, n, k] in [[1, 1, 1], [12, 12, 5], [13, 25, 11], [30, 7, 4], [2, 3, 0]] {
        let data = |len: usize| (0..len).map(|i| (i as f32 * 0.37).sin()).collect::<Vec<_>>();
        let (a, b) = (data(m * k), data(k * n));
        let [on_device, other] = [&a, &b].map(|x| DeviceBuf::from_slice(device, x).unwrap());
        let mut expected = vec![0.0_f32; m * n];
        for (i, sum) in expected.iter_mut().enumerate() {
            (0..k).for_each(|inner| *sum = a[i / n * k + inner].mul_add(b[inner * n + i % n], *sum));
        }
        for grid in [(3, 3), (1, 1)] {
            let mut c = DeviceBuf::<f32>::zeroed(device, m * n).unwrap();
            let c_as = Shaped::new(&mut c, [m, n]);
            kernel.launch(stream.config(grid, 9, 0), k, &on_device, &other, c_as).unwrap();
            assert_eq!(c.to_vec().unwrap(), expected, "{m} x {n}, {k}");
        }
    }
}

fn a_fault_of_a_fetch_ends_the_block(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = turned::load(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[1_u32; 90]).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(device, 48).unwrap();
    let launched = kernel.launch(stream.config(1, 48, 0), 3, &x, &mut y);
    let text = launched.and_then(|()| stream.synchronize()).unwrap_err().to_string();
    let said = ["index out of bounds: the len is 90 but the index is 96", "thread 0"];
    assert_said(device, &text, "kernels.rs", &said);
}

fn what_is_fetched_may_be_overwritten(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let x: Vec<u32> = (0..200_u32).map(|i| i * 7919 % 1009).collect();
    let mut y = DeviceBuf::from_slice(device, &x).unwrap();
    reversed::load(device).unwrap().launch(stream.config(2, 48, 0), &mut y).unwrap();
    for (i, y) in y.to_vec().unwrap().into_iter().enumerate() {
        assert_eq!(y, x[i / 100 * 100 + 99 - i % 100] + (i % 100) as u32, "at {i}");
    }
}
