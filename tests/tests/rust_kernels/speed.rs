//! How fast kernels run on the host, in comparison with a loop over slices. It asserts results, and prints times.

use std::hint::black_box;
use std::time::Instant;

use thalweg::kernel::Shaped;
use thalweg::prelude::*;

use crate::both::simulated;

/// The elements: as many as stay in a core's cache.
const N: usize = 1 << 16;
/// The launches of one measurement, of which there are so many.
const LAUNCHES: usize = 50;
const ROUNDS: usize = 21;

#[kernel]
fn saxpy(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += a * x[i];
}

#[kernel]
fn around(i: Index, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let i = i.get();
    *y = if i > 0 && i + 1 < x.len() { x[i - 1] + x[i] + x[i + 1] } else { x[i] };
}

#[kernel]
fn across(at: Index<2>, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(at) else { return };
    let [r, c] = at.get();
    let here = r * SIDE + c;
    let is_inside = r > 0 && r + 1 < SIDE && c > 0 && c + 1 < SIDE;
    *y = if is_inside { x[here - SIDE] + x[here + SIDE] + x[here - 1] + x[here + 1] } else { x[here] };
}

#[kernel]
fn shared(block: Block, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    block.each(|t| {
        for i in t.of_grid(x.len()) {
            if let Some(y) = y.get_mut(i) {
                *y += a * x[i];
            }
        }
    });
}

/// The rows and columns of what `across` reads.
const SIDE: usize = 256;

/// The median time of a call in microseconds, of calls that `run` makes `LAUNCHES` times.
fn micros(mut run: impl FnMut()) -> f64 {
    let once = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64() * 1e6 / LAUNCHES as f64
    };
    let mut times: Vec<_> = (0..ROUNDS).map(once).collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}

#[test]
#[ignore = "prints times"]
fn kernels_run_as_fast_as_loops_on_the_host() {
    let (device, stream) = simulated();
    let data: Vec<f32> = (0..N).map(|i| (i % 100) as f32).collect();
    let x = DeviceBuf::from_slice(&device, &data).unwrap();
    let mut y = DeviceBuf::<f32>::zeroed(&device, N).unwrap();
    let (mut z, grid) = (vec![0.0; N], blocks(N, 256));

    let kernel = saxpy::load(&device).unwrap();
    let launched = micros(|| {
        for _ in 0..LAUNCHES {
            kernel.launch(stream.config(grid, 256, 0), 1e-3, &x, &mut y).unwrap();
        }
        stream.synchronize().unwrap();
    });
    let looped = micros(|| {
        for _ in 0..LAUNCHES {
            black_box(&mut z).iter_mut().zip(black_box(&data)).for_each(|(y, x)| *y += 1e-3 * x);
        }
    });
    assert_eq!(y.to_vec().unwrap(), z);
    println!("saxpy: {launched:.1} us a launch, {looped:.1} us a loop");

    let kernel = around::load(&device).unwrap();
    let launched = micros(|| {
        for _ in 0..LAUNCHES {
            kernel.launch(stream.config(grid, 256, 0), &x, &mut y).unwrap();
        }
        stream.synchronize().unwrap();
    });
    let looped = micros(|| {
        for _ in 0..LAUNCHES {
            let (x, z) = (black_box(&data), black_box(&mut z));
            (z[0], z[N - 1]) = (x[0], x[N - 1]);
            z[1..N - 1].iter_mut().zip(x.windows(3)).for_each(|(z, x)| *z = x[0] + x[1] + x[2]);
        }
    });
    assert_eq!(y.to_vec().unwrap(), z);
    println!("stencil: {launched:.1} us a launch, {looped:.1} us a loop");
}

#[test]
#[ignore = "prints times"]
fn rows_and_blocks_run_as_fast_as_loops_on_the_host() {
    let (device, stream) = simulated();
    let data: Vec<f32> = (0..N).map(|i| (i % 100) as f32).collect();
    let x = DeviceBuf::from_slice(&device, &data).unwrap();
    let mut y = DeviceBuf::<f32>::zeroed(&device, N).unwrap();
    let mut z = vec![0.0; N];

    let kernel = across::load(&device).unwrap();
    let side = SIDE as u32;
    let launched = micros(|| {
        for _ in 0..LAUNCHES {
            let y = Shaped::new(&mut y, [SIDE, SIDE]);
            kernel.launch(stream.config((side / 32, side / 4), (32, 4), 0), &x, y).unwrap();
        }
        stream.synchronize().unwrap();
    });
    let looped = micros(|| {
        for _ in 0..LAUNCHES {
            let (x, z) = (black_box(&data), black_box(&mut z));
            for r in 0..SIDE {
                for c in 0..SIDE {
                    let here = r * SIDE + c;
                    let is_inside = r > 0 && r + 1 < SIDE && c > 0 && c + 1 < SIDE;
                    z[here] = match is_inside {
                        true => x[here - SIDE] + x[here + SIDE] + x[here - 1] + x[here + 1],
                        false => x[here],
                    };
                }
            }
        }
    });
    assert_eq!(y.to_vec().unwrap(), z);
    println!("rows: {launched:.1} us a launch, {looped:.1} us a loop");

    let kernel = shared::load(&device).unwrap();
    let launched = micros(|| {
        for _ in 0..LAUNCHES {
            kernel.launch(stream.config(8, 256, 0), 1e-3, &x, &mut y).unwrap();
        }
        stream.synchronize().unwrap();
    });
    let looped = micros(|| {
        for _ in 0..LAUNCHES {
            black_box(&mut z).iter_mut().zip(black_box(&data)).for_each(|(y, x)| *y += 1e-3 * x);
        }
    });
    assert_eq!(y.to_vec().unwrap(), z);
    println!("blocks: {launched:.1} us a launch, {looped:.1} us a loop");
}
