//! `transpose` and `matmul`: the simulated device is compared with plain loops, and a GPU with the simulated
//! device.

use proptest::prelude::*;
use thalweg::prelude::*;
use thalweg_kernels::{matmul, transpose};
use thalweg_tests::compare::{Tolerance, assert_close, on_gpu_and_simulated};
use thalweg_tests::is;
use thalweg_tests::launches::{Dim3, LAUNCHES, Launch};
use thalweg_tests::on_a_gpu_every;
use thalweg_tests::random::Random;

/// Grids of two dimensions, as `matmul` allows them.
const FLAT: [(u32, u32); 5] = [(3, 2), (1, 1), (7, 1), (1, 5), (100, 100)];

stream_pipeline! {
    /// An item is a matrix.
    pipeline Transpose {
        param grid: Dim3;
        param threads: u32;
        param shared: u32;
        param rows: usize;
        param columns: usize;
        input x: [f32; rows * columns];
        output y: [f32; rows * columns];
        device dy: [f32; rows * columns];
        chunk c = 3;
        stage load { copy x -> dx; }
        stage turn { transpose<<<grid, threads, shared>>>(&dx, out dy as [c.len, columns, rows]); }
        stage store { copy dy -> y; }
    }
}

fn transposed(
    device: &Device,
    (grid, block, shared): Launch,
    [matrices, rows, columns]: [u32; 3],
    x: &[f32],
) -> thalweg::Result<Vec<f32>> {
    let mut y = vec![7.0; (matrices * rows * columns) as usize];
    let (threads, [rows, columns]) = (block.0 * block.1 * block.2, [rows, columns].map(|size| size as usize));
    Transpose::new(device)?.run(grid, threads, shared, rows, columns, x, &mut y)?;
    Ok(y)
}

fn transposed_by_loops([matrices, rows, columns]: [u32; 3], x: &[f32]) -> Vec<f32> {
    let mut y = Vec::new();
    for matrix in 0..matrices {
        for column in 0..columns {
            y.extend((0..rows).map(|row| x[((matrix * rows + row) * columns + column) as usize]));
        }
    }
    y
}

stream_pipeline! {
    /// An item is a row of `a`, which has an element at least.
    pipeline Product {
        param grid: (u32, u32);
        param threads: u32;
        param n: usize;
        param k: u32;
        input a: [f32; k.max(1) as usize];
        resident b: [f32];
        output z: [f32; n];
        device dz: [f32; n];
        chunk c = 200;
        stage load { copy a -> da; }
        stage multiply { matmul<<<grid, threads>>>(k, &da, &b, out dz as [c.len, n]); }
        stage store { copy dz -> z; }
    }
}

fn multiplied(
    device: &Device,
    grid: (u32, u32),
    [m, n, k]: [u32; 3],
    a: &[f32],
    b: &[f32],
) -> thalweg::Result<Vec<f32>> {
    let mut z = vec![5.0; (m * n) as usize];
    Product::new(device)?.run(grid, 256, n as usize, k, a, b, &mut z)?;
    Ok(z)
}

/// Factors of a product and, in doubles, each element of it and the sum of its products' magnitudes.
struct Factors {
    a: Vec<f32>,
    b: Vec<f32>,
    product: Vec<(f64, f64)>,
}

impl Factors {
    fn new(a: Vec<f32>, b: Vec<f32>, [m, n, k]: [u32; 3]) -> Self {
        let product = |(row, column): (u32, u32)| {
            let products = (0..k)
                .map(|i| f64::from(a[(row * k + i) as usize]) * f64::from(b[(i * n + column) as usize]));
            // Sums begin at 0.0, which products of -0.0 do not turn into -0.0.
            (products.clone().fold(0.0, |sum, product| sum + product), products.map(f64::abs).sum())
        };
        let product = (0..m).flat_map(|row| (0..n).map(move |column| (row, column))).map(product).collect();
        Self { a, b, product }
    }

    fn random(random: &mut Random, shape: [u32; 3]) -> Self {
        let [m, n, k] = shape;
        let a = random.floats((m * k.max(1)) as usize, -1.0, 1.0);
        let b = random.floats((k * n).max(1) as usize, -1.0, 1.0);
        Self::new(a, b, shape)
    }

    /// Checks a result against the bound of the documentation.
    fn check(&self, found: &[f32], [m, n, k]: [u32; 3]) {
        assert_eq!(found.len(), self.product.len());
        let unit = f64::from(f32::EPSILON);
        for (i, (found, (product, magnitude))) in found.iter().zip(&self.product).enumerate() {
            let error = (f64::from(*found) - product).abs();
            assert!(error <= f64::from(k) * unit * magnitude, "[{i}] of {m} x {n} x {k}: {found}, {product}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn transpose_is_loops(
        matrices in 0..8_u32, rows in 1..70_u32, columns in 1..70_u32, launch in 0..LAUNCHES.len(), seed in any::<u64>(),
    ) {
        let shape = [matrices, rows, columns];
        let x = Random::new(seed).any_floats((matrices * rows * columns) as usize);
        let y = transposed(&Device::simulated(Simulation::default()), LAUNCHES[launch], shape, &x).unwrap();
        assert_close(&y, &transposed_by_loops(shape, &x), Tolerance::Exact, format_args!("{shape:?}"));
    }
}

proptest! {
    // Each tile has 128 x 128 elements, however small the product is.
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn matmul_is_loops(
        m in 0..300_u32, n in 1..70_u32, k in 0..70_u32, grid in 0..FLAT.len(), seed in any::<u64>(),
    ) {
        let factors = Factors::random(&mut Random::new(seed), [m, n, k]);
        let device = Device::simulated(Simulation::default());
        let found = multiplied(&device, FLAT[grid], [m, n, k], &factors.a, &factors.b);
        factors.check(&found.unwrap(), [m, n, k]);
    }

    #[test]
    fn matmul_of_small_whole_numbers_is_exact(n in 1..700_u32, k in 1..20_u32, seed in any::<u64>()) {
        let (shape, mut random) = ([9, n, k], Random::new(seed));
        let mut numbers = |len| (0..len).map(|_| random.below(100) as f32 - 50.0).collect::<Vec<_>>();
        let (a, b) = (numbers(9 * k), numbers(k * n));
        let factors = Factors::new(a, b, shape);
        let device = Device::simulated(Simulation::default());
        let found = multiplied(&device, FLAT[0], shape, &factors.a, &factors.b).unwrap();
        let expected: Vec<_> = factors.product.iter().map(|(product, _)| *product as f32).collect();
        assert_close(&found, &expected, Tolerance::Exact, format_args!("{shape:?}"));
    }
}

#[test]
fn what_would_leave_the_slices_is_refused() {
    let device = Device::simulated(Simulation::default());
    let mut pipeline = Refused::new(&device).unwrap();
    let (x, mut y) = ([0.0; 12], [0.0; 12]);
    pipeline.run(3, 2, 2, &x, &mut y).unwrap();
    for (batch, rows, columns) in
        [(13, 1, 1), (3, 5, 1), (usize::MAX, usize::MAX, usize::MAX), (1, usize::MAX, 1 << 63)]
    {
        let error = pipeline.run(batch, rows, columns, &x, &mut y).unwrap_err();
        is!(error, ShapeOfElements { kernel: "transpose", elements: 12, .. });
    }
    let error = pipeline.run(1, 3, 4, &x[..11], &mut y).unwrap_err();
    is!(error, Requires { kernel: "transpose", condition: "y.len() <= x.len()", .. });
    let factors = [0.0; 6];
    let error = multiplied(&device, (1, 1), [2, 3, 3], &factors, &factors).unwrap_err();
    let condition = "c.shape()[1].saturating_mul(k as usize) <= b.len()";
    is!(error, Requires { kernel: "matmul", condition: found, .. } if *found == condition);
    let mut z = [0.0; 6];
    for threads in [255, 257, 1024] {
        let product =
            Product::new(&device).unwrap().run((1, 1), threads, 3, 2, &factors[..4], &factors, &mut z);
        let error = product.unwrap_err();
        is!(error, ThreadsOfBlocks { kernel: "matmul", threads: 256, .. });
    }
}

stream_pipeline! {
    pipeline Refused {
        param batch: usize;
        param rows: usize;
        param columns: usize;
        resident x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 12;
        stage all {
            transpose<<<1, 256>>>(&x, out dy as [batch, columns, rows]);
            copy dy -> y;
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn transpose_is_the_same_on_a_gpu() {
    let shapes = [
        [0, 3, 3],
        [1, 1, 1],
        [4, 32, 32],
        [2, 31, 33],
        [7, 64, 1],
        [5, 1, 65],
        [3, 100, 257],
        [2, 1999, 2003],
    ];
    let (gpu, simulated) = on_gpu_and_simulated(|device| {
        let mut random = Random::new(1);
        let mut cases = Vec::new();
        let all = shapes.into_iter().flat_map(|shape| LAUNCHES.map(|launch| (shape, launch)));
        for (shape, launch) in on_a_gpu_every(all) {
            let x = random.any_floats(shape.iter().product::<u32>() as usize);
            cases.push((format!("{shape:?} with {launch:?}"), transposed(device, launch, shape, &x)?));
        }
        Ok(cases)
    });
    assert_eq!(gpu.len(), on_a_gpu_every(0..shapes.len() * LAUNCHES.len()).count());
    for ((what, gpu), (_, simulated)) in gpu.iter().zip(&simulated) {
        assert_close(gpu, simulated, Tolerance::Exact, what);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn matmul_has_the_same_bits_on_a_gpu() {
    let gpu = Device::cuda(0).expect("a GPU");
    let mut random = Random::new(2);
    let shapes = [
        [0, 3, 3],
        [1, 1, 1],
        [129, 5, 0],
        [128, 128, 8],
        [127, 129, 7],
        [200, 64, 9],
        [65, 257, 100],
        [1, 300, 33],
        [300, 1, 17],
    ];
    for shape in shapes {
        let factors = Factors::random(&mut random, shape);
        let simulated = Device::simulated(Simulation::default());
        let expected = multiplied(&simulated, (1, 1), shape, &factors.a, &factors.b).unwrap();
        factors.check(&expected, shape);
        for grid in FLAT {
            let found = multiplied(&gpu, grid, shape, &factors.a, &factors.b).unwrap();
            // Neither the grid nor the device changes a bit.
            assert_close(&found, &expected, Tolerance::Exact, format_args!("{shape:?} by {grid:?}"));
        }
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_large_matmul_is_the_same_on_a_gpu() {
    // The factors are whole numbers: products and sums are exact in any order and with any rounding.
    let (mut random, shape) = (Random::new(3), [1100, 1300, 700]);
    let mut numbers = |len| (0..len).map(|_| random.below(100) as f32 - 50.0).collect::<Vec<_>>();
    let (a, b) = (numbers(1100 * 700), numbers(700 * 1300));
    let (gpu, simulated) = on_gpu_and_simulated(|device| multiplied(device, (11, 9), shape, &a, &b));
    assert_close(&gpu, &simulated, Tolerance::Exact, "a large product");
}
