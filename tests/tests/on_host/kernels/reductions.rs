//! Sums, dot products, least and greatest elements, and histograms: barriers, shuffles and atomics.

use thalweg_kernels::{
    dot_f32, dot_f64, histogram_f32, histogram_u8, max_f32, max_f64, min_f32, min_f64, sum_f32, sum_f64,
};

use super::*;

/// Grids and blocks of every shape; blocks of whole warps and others.
const SHAPES: [Launch; 7] = [
    ((3, 2, 1), (256, 1, 1), 0),
    ((1, 1, 1), (32, 8, 1), 0),
    ((2, 2, 2), (16, 4, 4), 1000),
    ((1, 1, 1), (1, 1, 1), 0),
    ((7, 1, 1), (33, 1, 1), 17),
    ((1, 5, 3), (5, 13, 3), 0),
    ((4, 1, 1), (1024, 1, 1), 0),
];

/// A reduction of one type, of finite numbers or of any. The order of the operations follows from the launch, on both
/// sides alike.
macro_rules! reductions {
    ($(
        $test:ident of $kernel:ident by $any:path:
            |$data:ident: $ty:ty| $($argument:ident = read($value:expr)),*; $result:ident of $of:ty;
    )*) => {$(
        #[test]
        fn $test() {
            let mut bench = Bench::of::<$kernel>();
            for len in [0, 1, 33, 257, 3001] {
                for (parts, block) in [(6, 256), (1, 256), (8, 250), (1, 1), (7, 33), (15, 195), (4, 1024)] {
                    let $data = [(); 2].map(|()| $any(&mut bench.random, len));
                    same!(bench, $kernel, ((parts, 1, 1), (block, 1, 1), 0), Tolerance::Exact;
                        $($argument = read($value),)* $result = write(&vec![7.0 as $of; parts as usize]));
                }
            }
            bench.finish(140, 90_000);
        }
    )*};
}

fn finite(random: &mut Random, len: usize) -> Vec<f32> {
    random.floats(len, -1e3, 1e3)
}

fn finite_doubles(random: &mut Random, len: usize) -> Vec<f64> {
    finite(random, len).into_iter().map(|x| f64::from(x) / 3.0).collect()
}

/// Floats of any bits, or zeros of both signs.
fn any_or_zeros(random: &mut Random, len: usize) -> Vec<f32> {
    match random.below(2) {
        0 => random.any_floats(len),
        _ => finite(random, len).into_iter().map(|x| x * 0.0).collect(),
    }
}

fn any_doubles_or_zeros(random: &mut Random, len: usize) -> Vec<f64> {
    match random.below(2) {
        0 => any_doubles(random, len),
        _ => finite_doubles(random, len).into_iter().map(|x| x * 0.0).collect(),
    }
}

reductions! {
    sums_of_floats of sum_f32 by finite: |d: f32| x = read(&d[0]); sums of f64;
    sums_of_doubles of sum_f64 by finite_doubles: |d: f64| x = read(&d[0]); sums of f64;
    dots_of_floats of dot_f32 by finite: |d: f32| x = read(&d[0]), y = read(&d[1]); sums of f64;
    dots_of_doubles of dot_f64 by finite_doubles: |d: f64| x = read(&d[0]), y = read(&d[1]); sums of f64;
    least_of_floats of min_f32 by any_or_zeros: |d: f32| x = read(&d[0]); least of f32;
    least_of_doubles of min_f64 by any_doubles_or_zeros: |d: f64| x = read(&d[0]); least of f64;
    greatest_of_floats of max_f32 by any_or_zeros: |d: f32| x = read(&d[0]); greatest of f32;
    greatest_of_doubles of max_f64 by any_doubles_or_zeros: |d: f64| x = read(&d[0]); greatest of f64;
}

#[test]
fn histograms_of_bytes() {
    let mut bench = Bench::new("histogram.cu", &["histogram_u8"]);
    for len in LENGTHS {
        for launch in SHAPES {
            let mut x = bench.random.bytes(len);
            x.iter_mut().step_by(2).for_each(|x| *x &= 3);
            let counts: Vec<u32> = (0..300).map(|_| bench.random.bits() as u32).collect();
            same!(bench, histogram_u8 as "histogram_u8", launch, Tolerance::Exact;
                n = value(len as u32), x = read(&x), counts = write(&counts));
        }
    }
    bench.finish(252, 200_000);
}

/// With shared memory for several copies of the bins, for one, and for none.
#[test]
fn histograms_of_floats() {
    let mut bench = Bench::of::<histogram_f32>();
    let launches =
        [(6, 256, 1), (1, 256, 7), (8, 250, 100), (1, 1, 3), (7, 33, 0), (15, 195, 64), (4, 1024, 500)];
    for len in LENGTHS {
        for (blocks, threads, bins) in launches {
            for shared in [0, 4 * bins, 16 * (bins | 1) + 3] {
                let (grid, block) = ((blocks, 1, 1), (threads, 1, 1));
                let mut x = bench.random.floats(len, -1.5, 2.5);
                x.extend(bench.random.any_floats(7));
                let counts = vec![5_u32; bins as usize];
                same!(bench, histogram_f32, (grid, block, shared), Tolerance::Exact;
                    n = value(len as u32 + 7), bins = value(bins), low = value(-1.0_f32),
                    high = value(2.0_f32), x = read(&x), counts = write(&counts));
            }
        }
    }
    bench.finish(756, 450_000);
}
