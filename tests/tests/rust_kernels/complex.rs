//! Complex numbers of the crate `num-complex` in kernels: on the simulated device, and as C++ on the host, which
//! has to compute the same bits.

use thalweg::num_complex::{Complex, Complex32, Complex64};
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::on_each_device;
use thalweg_tests::on_host::Argument;

use crate::both::{assert_same, cpp, run, slice};

// ANCHOR: rotate
#[device]
fn product(a: Complex32, b: Complex32) -> Complex32 {
    Complex32 { re: a.re * b.re - a.im * b.im, im: a.re * b.im + a.im * b.re }
}

/// Turns each number by the angle of `turn`.
#[kernel]
fn rotate(i: Index, turn: Complex32, z: &mut Own<[Complex32]>) {
    let Some(z) = z.get_mut(i) else { return };
    *z = product(*z, turn);
}
// ANCHOR_END: rotate

const START: Complex<f64> = Complex::<f64> { re: 0.25, im: -1.5 };

/// Both precisions in one kernel, by the generic name and by an alias.
#[kernel]
fn widened(i: Index, z: &[Complex<f32>], wide: &mut Out<[Complex64]>) {
    let Some(wide) = wide.get_mut(i) else { return };
    let Complex::<f32> { re, im } = z[i];
    let mut sum = Complex::<f64> { re: re as f64, ..START };
    sum.im += im as f64;
    *wide = sum;
}

/// Complex numbers among what the threads of a block share.
#[kernel]
fn mean(block: Block, z: &[Complex<f32>], y: &mut Out<[Complex<f32>]>) {
    let sum = block.reduce(|t| z[t.rank()], |a, b| Complex32 { re: a.re + b.re, im: a.im + b.im });
    y.put(block.index(), Complex::<f32> { re: sum.re / 32.0, im: sum.im / 32.0 });
}

stream_pipeline! {
    pipeline Rotate {
        param turn: Complex<f32>;
        inout z: [Complex<f32>];
        device dz: [Complex<f32>];
        chunk c = 16;
        stage all {
            copy z -> dz;
            rotate<<<blocks(c.len, 32), 32>>>(turn, &mut dz);
            copy dz -> z;
        }
    }
}

fn numbers() -> Vec<Complex<f32>> {
    (0..40).map(|i| Complex { re: i as f32 * 0.37 - 5.0, im: (i * i % 17) as f32 / 3.0 }).collect()
}

on_each_device! {
    complex_numbers_are_those_of_the_crate;
    both_precisions_have_a_type_of_their_own;
    blocks_share_complex_numbers;
}

fn complex_numbers_are_those_of_the_crate(device: &Device) {
    let turn = Complex::new(0.6_f32, 0.8);
    let (mut native, mut in_cpp) = (numbers(), numbers());
    Rotate::new(device).unwrap().run(turn, &mut native).unwrap();
    for (after, before) in native.iter().zip(numbers()) {
        let by_crate = before * turn;
        assert_eq!((after.re, after.im), (by_crate.re, by_crate.im));
    }
    let [a, b] = slice(&mut in_cpp);
    run::<rotate>(40, &[Argument::value(&turn), a, b]);
    assert_same(&native, &in_cpp);
}

fn both_precisions_have_a_type_of_their_own(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let (mut z, mut wide) = (numbers(), vec![Complex64::default(); 40]);
    let dz = DeviceBuf::from_slice(device, &z).unwrap();
    let mut dwide = DeviceBuf::from_slice(device, &wide).unwrap();
    widened::load(device).unwrap().launch(stream.config(2, 32, 0), &dz, &mut dwide).unwrap();
    let native = dwide.to_vec().unwrap();
    assert_eq!(native[3], Complex64::new(f64::from(z[3].re), f64::from(z[3].im) - 1.5));
    let [a, b] = slice(&mut z);
    let [c, d] = slice(&mut wide);
    run::<widened>(40, &[a, b, c, d]);
    assert_same(&native, &wide);
    let text = cpp::<widened>();
    assert!(text.contains("struct Complex {\n    f32 re;") && text.contains("struct Complex {\n    f64 re;"));
}

fn blocks_share_complex_numbers(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let (mut z, mut y) = (numbers(), vec![Complex::<f32>::default(); 1]);
    let dz = DeviceBuf::from_slice(device, &z).unwrap();
    let mut dy = DeviceBuf::from_slice(device, &y).unwrap();
    mean::load(device).unwrap().launch(stream.config(1, 32, 0), &dz, &mut dy).unwrap();
    let native = dy.to_vec().unwrap();
    let exact: f32 = z[..32].iter().map(|z| z.re).sum::<f32>() / 32.0;
    assert!((native[0].re - exact).abs() < 1e-5, "{} {exact}", native[0].re);
    let [a, b] = slice(&mut z);
    let [c, d] = slice(&mut y);
    run::<mean>(32, &[a, b, c, d]);
    assert_same(&native, &y);
}
