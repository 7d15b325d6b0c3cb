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
    let mut bench = Bench::new("transpose.cu", &["transpose"]);
    for [batch, rows, columns] in [[0, 3, 3], [2, 0, 4], [1, 1, 1], [2, 31, 33], [3, 5, 70], [1, 64, 65]] {
        for launch in launches() {
            let len = (batch * rows * columns) as usize;
            let x = bench.random.any_floats(len);
            same!(bench, transpose as "transpose", launch, Tolerance::Exact;
                batch = value(batch), rows = value(rows), columns = value(columns), x = read(&x),
                y = write(&vec![7.0; len]));
        }
    }
    bench.finish(168, 200_000);
}

/// Rows of `a`, columns of `b`, columns of `a`.
const SIZES: [[u32; 3]; 7] =
    [[0, 3, 2], [3, 0, 2], [2, 3, 0], [1, 1, 1], [5, 130, 9], [129, 3, 17], [40, 60, 50]];

/// Small whole numbers, whose products and sums are exact.
#[test]
fn products_of_whole_numbers() {
    let mut bench = Bench::new("matmul.cu", &["matmul"]);
    for [m, n, k] in SIZES {
        for (grid, block, shared) in launches() {
            let mut whole =
                |len: u32| -> Vec<f32> { (0..len).map(|_| bench.random.below(41) as f32 - 20.0).collect() };
            let (a, b) = (whole(m * k), whole(k * n));
            // A product with 0 leaves a zero of either sign.
            same!(bench, matmul as "matmul", (grid, block, shared), Tolerance::Ulps(0);
                m = value(m), n = value(n), k = value(k), a = read(&a), b = read(&b),
                c = write(&vec![7.0; (m * n) as usize]));
        }
    }
    bench.finish(196, 100_000);
}

/// The kernel rounds each product and sum once together: the bits are those of `mul_add`, but for the sign of
/// a zero. The host body rounds both. Each is less than `k * 2^-23` times the sum of the products' magnitudes
/// away from the true value.
#[test]
fn products_of_floats() {
    let bench = Bench::new("matmul.cu", &["matmul"]);
    let mut random = Random::new(7);
    let mut largest = 0.0_f64;
    for [m, n, k] in SIZES {
        for (grid, block, shared) in launches() {
            let (a, b) =
                (random.floats((m * k) as usize, -1.0, 1.0), random.floats((k * n) as usize, -1.0, 1.0));
            let [rows, columns, inner] = [m, n, k].map(|size| size as usize);
            let mut found = vec![7.0_f32; rows * columns];
            let sizes = [m, n, k].map(|size| Argument::value(&size));
            let arrays = [
                Argument::pointer(a.as_ptr()),
                Argument::pointer(b.as_ptr()),
                Argument::pointer(found.as_mut_ptr()),
            ];
            // SAFETY: the arrays have the elements that the sizes say.
            unsafe {
                bench.program.launch(
                    "matmul",
                    Turns::new(grid, block, shared),
                    &[&sizes[..], &arrays].concat(),
                )
            }
            .unwrap_or_else(|error| panic!("{error}"));
            let device = |data: &[f32]| DeviceBuf::from_slice(&bench.device, data).expect("memory");
            let (on_device, other, mut result) = (device(&a), device(&b), device(&found));
            let kernel = matmul::load(&bench.device).expect("the kernel");
            kernel
                .launch(bench.stream.config(grid, block, shared), m, n, k, &on_device, &other, &mut result)
                .expect("a launch");
            let body = result.to_vec().expect("the product");
            for (i, (&found, body)) in found.iter().zip(body).enumerate() {
                let (row, column) = (i / columns, i % columns);
                let pairs = (0..inner).map(|at| (a[row * inner + at], b[at * columns + column]));
                let fused = pairs.clone().fold(0.0_f32, |sum, (a, b)| a.mul_add(b, sum));
                assert!(found.is_close(fused, Tolerance::Ulps(0)), "[{i}] {found:?}, expected {fused:?}");
                let magnitude: f64 = pairs.map(|(a, b)| f64::from(a * b).abs()).sum();
                let bound = 2.0 * f64::from(k) * magnitude / f64::from(1 << 23);
                let apart = (f64::from(found) - f64::from(body)).abs();
                assert!(apart <= bound, "[{i}] {found:?}, the host body {body:?}");
                largest = largest.max(apart / bound.max(f64::MIN_POSITIVE));
            }
            count(&bench.elements, found.len());
            count(&bench.launches, 1);
        }
    }
    println!("the largest difference is {largest:.3} of the bound");
    assert!(largest > 0.0, "the sides round alike, so that the bound is too wide");
    bench.finish(49, 24_000);
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
