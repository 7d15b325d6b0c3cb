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

/// The order of the operations follows from the launch, on both sides alike.
#[test]
fn reductions() {
    let kernels = ["sum_f32", "sum_f64", "dot_f32", "dot_f64", "min_f32", "min_f64", "max_f32", "max_f64"];
    let mut bench = Bench::new("reduce.cu", &kernels);
    for len in [0, 1, 33, 257, 3001] {
        for (launch, parts) in SHAPES.into_iter().zip([6_u32, 4, 5, 1, 9, 3, 4]) {
            let [x, y] = [(); 2].map(|()| bench.random.floats(len, -1e3, 1e3));
            let [wide, other] = [&x, &y].map(|x| x.iter().map(|&x| f64::from(x) / 3.0).collect::<Vec<_>>());
            let (n, old, narrow_old) = (len as u32, vec![7.0; parts as usize], vec![7.0; parts as usize]);
            same!(bench, sum_f32 as "sum_f32", launch, Tolerance::Exact;
                n = value(n), parts = value(parts), x = read(&x), sums = write(&old));
            same!(bench, sum_f64 as "sum_f64", launch, Tolerance::Exact;
                n = value(n), parts = value(parts), x = read(&wide), sums = write(&old));
            same!(bench, dot_f32 as "dot_f32", launch, Tolerance::Exact;
                n = value(n), parts = value(parts), x = read(&x), y = read(&y), sums = write(&old));
            same!(bench, dot_f64 as "dot_f64", launch, Tolerance::Exact;
                n = value(n), parts = value(parts), x = read(&wide), y = read(&other), sums = write(&old));
            // Half of them with NaN and zeros of both signs.
            let (x, wide) = match bench.random.below(2) {
                0 => (bench.random.any_floats(len), any_doubles(&mut bench.random, len)),
                _ => (x.iter().map(|x| x * 0.0).collect(), wide.iter().map(|x| x * 0.0).collect()),
            };
            same!(bench, min_f32 as "min_f32", launch, Tolerance::Exact;
                n = value(n), parts = value(parts), x = read(&x), least = write(&narrow_old));
            same!(bench, min_f64 as "min_f64", launch, Tolerance::Exact;
                n = value(n), parts = value(parts), x = read(&wide), least = write(&old));
            same!(bench, max_f32 as "max_f32", launch, Tolerance::Exact;
                n = value(n), parts = value(parts), x = read(&x), greatest = write(&narrow_old));
            same!(bench, max_f64 as "max_f64", launch, Tolerance::Exact;
                n = value(n), parts = value(parts), x = read(&wide), greatest = write(&old));
        }
    }
    bench.finish(1120, 900_000);
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
    let mut bench = Bench::new("histogram.cu", &["histogram_f32"]);
    for len in LENGTHS {
        for (launch, bins) in SHAPES.into_iter().zip([1, 7, 100, 3, 0, 64, 500_u32]) {
            for shared in [0, 4 * bins, 16 * (bins | 1) + 3] {
                let (grid, block, _) = launch;
                let mut x = bench.random.floats(len, -1.5, 2.5);
                x.extend(bench.random.any_floats(7));
                let counts = vec![5_u32; bins as usize];
                same!(bench, histogram_f32 as "histogram_f32", (grid, block, shared), Tolerance::Exact;
                    n = value(len as u32 + 7), bins = value(bins), low = value(-1.0_f32),
                    high = value(2.0_f32), x = read(&x), counts = write(&counts));
            }
        }
    }
    bench.finish(756, 450_000);
}
