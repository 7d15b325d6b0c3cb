//! Matrices and stencils.

use thalweg_kernels::{jacobi, matmul, stencil_3, stencil_5, transpose};
use thalweg_tests::launches::LAUNCHES;

use super::*;

/// Launches of every shape, without the grids of many idle threads.
fn launches() -> impl Iterator<Item = Launch> {
    LAUNCHES.into_iter().filter(|(grid, ..)| grid.0 < 100)
}

#[test]
fn transpositions() {
    let mut bench = Bench::of::<transpose>();
    for shape in [[0, 3, 3], [2, 0, 4], [1, 1, 1], [2, 31, 33], [3, 5, 70], [1, 64, 65]] {
        for (grid, (x, y, z), shared) in launches() {
            let len = shape.iter().product();
            let (data, old) = (bench.random.any_floats(len), vec![7.0; len]);
            same!(bench, transpose, (grid, (x * y * z, 1, 1), shared), Tolerance::Exact;
                x = read(&data), y = formed((&old, shape)));
        }
    }
    bench.finish(168, 200_000);
}

/// Rows of `a`, columns of `b`, columns of `a`.
const SIZES: [[u32; 3]; 7] =
    [[0, 3, 2], [3, 0, 2], [2, 3, 0], [1, 1, 1], [5, 130, 9], [129, 3, 17], [40, 60, 50]];

/// The grids of two dimensions.
const FLAT: [(u32, u32, u32); 3] = [(1, 1, 1), (3, 2, 1), (1, 5, 1)];

/// Each product and sum are rounded once together, on both sides.
#[test]
fn products() {
    let mut bench = Bench::of::<matmul>();
    for [m, n, k] in SIZES {
        for grid in FLAT {
            let [a, b] = [m * k, k * n].map(|len| bench.random.any_floats(len as usize));
            let (old, shape) = (vec![7.0; (m * n) as usize], [m, n].map(|size| size as usize));
            same!(bench, matmul, (grid, (256, 1, 1), 0), Tolerance::Exact;
                k = value(k), a = read(&a), b = read(&b), c = formed((&old, shape)));
        }
    }
    bench.finish(84, 40_000);
}

#[test]
fn stencils_along_a_line() {
    let (mut three, mut five) = (Bench::of::<stencil_3>(), Bench::of::<stencil_5>());
    for len in LENGTHS {
        for block in [1, 33, 256, 1024] {
            let w = three.random.any_floats(5);
            let x = three.random.any_floats(len + 4);
            let old = vec![7.0; len];
            same!(three, stencil_3, covering(len, block), Tolerance::Exact;
                w0 = value(w[0]), w1 = value(w[1]), w2 = value(w[2]), x = read(&x), y = write(&old));
            same!(five, stencil_5, covering(len, block), Tolerance::Exact;
                w0 = value(w[0]), w1 = value(w[1]), w2 = value(w[2]), w3 = value(w[3]), w4 = value(w[4]),
                x = read(&x), y = write(&old));
        }
    }
    three.finish(144, 100_000);
    five.finish(144, 100_000);
}

#[test]
fn steps_of_jacobi() {
    let mut bench = Bench::of::<jacobi>();
    for ([rows, columns], [first, height]) in [
        ([0, 5], [0, 5]),
        ([4, 0], [1, 9]),
        ([1, 1], [0, 1]),
        ([7, 40], [0, 7]),
        ([30, 33], [10, 50]),
        ([9, 3], [41, 50]),
    ] {
        for (x, y) in [(32, 8), (1, 1), (5, 13), (256, 2)] {
            let u = bench.random.any_floats(((rows + 2) * columns) as usize);
            let old = vec![7.0; (rows * columns) as usize];
            let shape = [rows, columns].map(|axis| axis as usize);
            let grid = (blocks(shape[1], x).max(1), blocks(shape[0], y).max(1), 1);
            same!(bench, jacobi, (grid, (x, y, 1), 0), Tolerance::Exact;
                columns = value(columns), first = value(first), height = value(height), u = read(&u),
                v = formed((&old, shape)));
        }
    }
    bench.finish(96, 30_000);
}
