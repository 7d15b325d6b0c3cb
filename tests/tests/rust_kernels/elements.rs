//! What kernels compute on the simulated device, in pipelines and launched by hand.

use thalweg::kernel::Shaped;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;

// ANCHOR: saxpy
/// `y[i] += a * x[i]`.
#[kernel]
fn saxpy(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += a * x[i];
}

stream_pipeline! {
    pub(crate) pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 256;
        stage all { copy x -> dx; copy y -> dy; saxpy<<<blocks(c.len, 64), 64>>>(a, &dx, &mut dy); copy dy -> y; }
    }
}
// ANCHOR_END: saxpy

on_each_device! {
    a_pipeline_launches_a_kernel_in_rust;
    a_kernel_of_two_dimensions_gets_its_shape_at_the_launch;
    a_kernel_is_launched_by_hand;
}

fn a_pipeline_launches_a_kernel_in_rust(device: &Device) {
    for len in [0, 1, 255, 256, 257, 5000] {
        let x: Vec<f32> = (0..len).map(|i| i as f32).collect();
        let mut y = vec![1.0; len];
        Saxpy::new(device).unwrap().run(2.0, &x, &mut y).unwrap();
        let expected: Vec<f32> = (0..len).map(|i| 1.0 + 2.0 * i as f32).collect();
        assert_eq!(y, expected, "{len}");
    }
}

// ANCHOR: jacobi
mod helpers {
    use thalweg::prelude::*;

    pub const QUARTER: f32 = 0.25;

    #[device]
    pub fn mean(around: [f32; 4]) -> f32 {
        QUARTER * ((around[0] + around[1]) + (around[2] + around[3]))
    }
}

/// One step of Jacobi's method on the rows `first..` of a grid.
#[kernel]
fn jacobi(at: Index<2>, u: &[f32], rows: usize, columns: usize, v: &mut Out<[f32]>) {
    let [r, c] = at.get();
    let Some(v) = v.get_mut(at) else { return };
    let here = r * columns + c;
    *v = if r > 0 && r + 1 < rows && c > 0 && c + 1 < columns {
        helpers::mean([u[here - columns], u[here + columns], u[here - 1], u[here + 1]])
    } else {
        u[here]
    };
}

stream_pipeline! {
    pub(crate) pipeline Jacobi {
        param rows: usize;
        param columns: usize;
        input u: [f32];
        output v: [f32];
        device dv: [f32];
        chunk c = rows * columns;
        stage all {
            copy u -> du;
            jacobi<<<(blocks(columns, 32), blocks(rows, 4)), (32, 4)>>>(&du, rows, columns, out dv as [rows, columns]);
            copy dv -> v;
        }
    }
}
// ANCHOR_END: jacobi

fn stepped(u: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let at = |r: usize, c: usize| u[r * columns + c];
    let inner = |r, c| r > 0 && r + 1 < rows && c > 0 && c + 1 < columns;
    let cell = |r: usize, c: usize| match inner(r, c) {
        true => 0.25 * ((at(r - 1, c) + at(r + 1, c)) + (at(r, c - 1) + at(r, c + 1))),
        false => at(r, c),
    };
    (0..rows).flat_map(|r| (0..columns).map(move |c| (r, c))).map(|(r, c)| cell(r, c)).collect()
}

fn a_kernel_of_two_dimensions_gets_its_shape_at_the_launch(device: &Device) {
    for (rows, columns) in [(1, 1), (3, 3), (7, 33), (32, 32), (5, 129)] {
        let u: Vec<f32> = (0..rows * columns).map(|i| (i * 7 % 13) as f32).collect();
        let mut v = vec![0.0; u.len()];
        Jacobi::new(device).unwrap().run(rows, columns, &u, &mut v).unwrap();
        assert_eq!(v, stepped(&u, rows, columns), "{rows} x {columns}");
    }
}

#[kernel]
fn positions(at: Index<3>, y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(at) else { return };
    let [z, r, c] = at.get();
    *y = (z * 100 + r * 10 + c) as u32;
}

fn a_kernel_is_launched_by_hand(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let saxpy = saxpy::load(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[1.0_f32; 100]).unwrap();
    let mut y = DeviceBuf::from_slice(device, &[2.0_f32; 100]).unwrap();
    saxpy.launch(stream.config(blocks(100, 32), 32, 0), 3.0, &x, &mut y).unwrap();
    saxpy.launch(stream.config(1, 32, 0), 3.0, x.slice(..10).unwrap(), y.slice_mut(90..).unwrap()).unwrap();
    assert_eq!(y.to_vec().unwrap()[..], [&[5.0; 90][..], &[8.0; 10]].concat()[..]);

    let mut y = DeviceBuf::<u32>::zeroed(device, 24).unwrap();
    let positions = positions::load(device).unwrap();
    positions.launch(stream.config((1, 1, 2), (4, 8, 1), 0), Shaped::new(&mut y, [2, 3, 4])).unwrap();
    let expected: Vec<u32> = (0..24).map(|i| (i / 12 * 100 + i % 12 / 4 * 10 + i % 4) as u32).collect();
    assert_eq!(y.to_vec().unwrap(), expected);
}

#[test]
fn a_kernel_is_a_function_too() {
    use thalweg::__private::{Grid, Kernel, KernelSource};
    let info = <saxpy as Kernel>::INFO;
    assert_eq!((info.name, info.symbol, info.parameters), ("saxpy", "saxpy", &[4, 8, 8, 8, 8][..]));
    let KernelSource::Rust(source) = info.module.source else { panic!("the kernel is in Rust") };
    let text = source.joined();
    assert!(text.contains("extern \"C\" __global__ void saxpy(f32 a, "), "{text}");
    let _ = Grid { grid_dim: [1; 3], block_dim: [1; 3], shared: 0 };
}
