//! Kernels for several numbers, and functions with constants as generic arguments.

use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;

mod filters {
    use thalweg::prelude::*;

    /// The sum of the first `N` elements, each with its weight.
    #[device]
    #[allow(clippy::needless_range_loop, reason = "two arrays have the index")]
    pub fn weighed<const N: usize>(x: &[f32], weights: [f32; N]) -> f32 {
        let mut sum = 0.0;
        for j in 0..N {
            sum += x[j] * weights[j];
        }
        sum
    }

    /// Numbers that fall from `N` to 1.
    #[device]
    pub fn falling<const N: usize>() -> [f32; N] {
        let mut all = [0.0; N];
        let mut left = N;
        while left > 0 {
            all[N - left] = left as f32;
            left -= 1;
        }
        all
    }
}

use filters::weighed as sum_of;

// ANCHOR: blurred
/// The weighed sum of the `N` elements around each one.
#[kernel(N in [3, 5])]
pub(crate) fn blurred(i: Index, x: &[f32], weights: [f32; N], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let from = i.get().saturating_sub(N / 2);
    *y = if from + N <= x.len() { filters::weighed(&x[from..from + N], weights) } else { x[i] };
}
// ANCHOR_END: blurred

/// The same of each tile in shared memory, with weights that fall.
#[kernel(T in [f32, f64], N in [1, 2, 7])]
pub(crate) fn tiled(block: Block, x: &[T], y: &mut Own<[f32]>) {
    const SIDE: usize = 8 * N;
    let mut tile = block.shared::<[f32; SIDE]>();
    block.fill(&mut tile, |j| if j < x.len() { x[j] as f32 * N as f32 } else { 0.0 });
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index())
            && t.rank() + N < SIDE
        {
            let part = &tile[t.rank()..t.rank() + N];
            *y = sum_of(part, filters::falling::<N>()) - sum_of::<1>(part, [2.0_f32]);
        }
    });
}

/// The number and a type at the end of ranges, with nothing before it.
#[kernel(T in [u8, i16], N in [3, 4])]
#[allow(clippy::needless_range_loop, reason = "the ranges are what is tried")]
pub(crate) fn ranged(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let first = &x[0..N];
    let mut sum = 0.0;
    for j in 0..N {
        sum += first[j] * (j + N) as f32;
    }
    for j in (0..N).rev() {
        sum = sum * 2.0 + x[i.get() + j];
    }
    for _ in 0..T::MAX / 40 {
        sum += 0.5;
    }
    for j in 0..=N {
        sum -= x[j];
    }
    *y = sum;
}

stream_pipeline! {
    pipeline Blurred {
        param weights: [f32; 5];
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 100;
        stage all {
            copy x -> dx;
            blurred::<5><<<blocks(c.len, 32), 32>>>(&dx, weights, out dy);
            copy dy -> y;
        }
    }
}

on_each_device! {
    a_pipeline_launches_the_kernel_of_a_number;
    types_and_numbers_go_together;
    a_number_is_the_end_of_a_range;
}

fn a_pipeline_launches_the_kernel_of_a_number(device: &Device) {
    let x: Vec<f32> = (0..250).map(|i| (i * 7 % 31) as f32).collect();
    let weights = [1.0, 2.0, 4.0, 2.0, 1.0];
    let mut y = vec![0.0; 250];
    Blurred::new(device).unwrap().run(weights, &x, &mut y).unwrap();
    for (chunk, found) in x.chunks(100).zip(y.chunks(100)) {
        let sum = |i: usize| {
            chunk
                .get(i.max(2) - 2..i.max(2) + 3)
                .map(|around| around.iter().zip(weights).fold(0.0, |sum, (x, weight)| sum + x * weight))
        };
        let expected: Vec<f32> = (0..chunk.len()).map(|i| sum(i).unwrap_or(chunk[i])).collect();
        assert_eq!(found, expected);
    }
    assert!(Blurred::PLAN.to_string().contains("blurred::<5><<<..>>>"), "{}", Blurred::PLAN);
}

fn types_and_numbers_go_together(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[1.0_f64, 3.0, 5.0, 7.0]).unwrap();
    let mut y = DeviceBuf::<f32>::zeroed(device, 4).unwrap();
    tiled::<f64, 2>::load(device).unwrap().launch(stream.config(1, 4, 0), &x, &mut y).unwrap();
    // Twice the elements, times 2 and 1, without the first one twice.
    assert_eq!(y.to_vec().unwrap(), [6.0, 10.0, 14.0, 0.0]);
}

fn a_number_is_the_end_of_a_range(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[1.0_f32, 3.0, 5.0, 7.0, 11.0]).unwrap();
    let mut y = DeviceBuf::<f32>::zeroed(device, 2).unwrap();
    ranged::<u8, 3>::load(device).unwrap().launch(stream.config(1, 2, 0), &x, &mut y).unwrap();
    let ends = |first: [f32; 3]| {
        let sum = 1.0 * 3.0 + 3.0 * 4.0 + 5.0 * 5.0;
        first.into_iter().rev().fold(sum, |sum, x| sum * 2.0 + x) + 3.0 - (1.0 + 3.0 + 5.0 + 7.0)
    };
    assert_eq!(y.to_vec().unwrap(), [ends([1.0, 3.0, 5.0]), ends([3.0, 5.0, 7.0])]);
}
