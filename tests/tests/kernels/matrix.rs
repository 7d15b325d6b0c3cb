//! `transpose` and `matmul`: the simulated device is compared with plain loops, and a GPU with the simulated
//! device.

use proptest::prelude::*;
use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_kernels::{matmul, transpose};
use thalweg_tests::compare::{Tolerance, assert_close, on_gpu_and_simulated};
use thalweg_tests::is;
use thalweg_tests::launches::{Dim3, LAUNCHES, Launch};
use thalweg_tests::random::Random;

/// The sizes that `matmul` allows.
const SMALL: &[Launch] = LAUNCHES.split_at(8).0;

stream_pipeline! {
    /// An item is a matrix.
    pipeline Transpose {
        param grid: Dim3;
        param block: Dim3;
        param shared: u32;
        param rows: u32;
        param columns: u32;
        input x: [f32; (rows * columns) as usize];
        output y: [f32; (rows * columns) as usize];
        device dy: [f32; (rows * columns) as usize];
        chunk c = 3;
        stage load { copy x -> dx; }
        stage turn { transpose<<<grid, block, shared>>>(c.len as u32, rows, columns, &dx, out dy); }
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
    Transpose::new(device)?.run(grid, block, shared, rows, columns, x, &mut y)?;
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
    /// An item is a row of `a`. A shape needs elements, so the shapes are given apart from `n` and `k`.
    #[allow(deprecated, reason = "the fill shows where nothing is written")]
    pipeline Product {
        param grid: Dim3;
        param block: Dim3;
        param shared: u32;
        param n: u32;
        param k: u32;
        input a: [f32; k.max(1) as usize];
        resident b: [f32];
        output z: [f32; n.max(1) as usize];
        device dz: [f32; n.max(1) as usize];
        chunk c = 200;
        stage load { copy a -> da; }
        stage multiply {
            fill dz = 7.0;
            matmul<<<grid, block, shared>>>(c.len as u32, n, k, &da, &b, out dz);
        }
        stage store { copy dz -> z; }
    }
}

fn multiplied(
    device: &Device,
    (grid, block, shared): Launch,
    [m, n, k]: [u32; 3],
    a: &[f32],
    b: &[f32],
) -> thalweg::Result<Vec<f32>> {
    let mut z = vec![5.0; (m * n.max(1)) as usize];
    Product::new(device)?.run(grid, block, shared, n, k, a, b, &mut z)?;
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
        if n == 0 {
            assert_eq!(found, vec![7.0; m as usize], "nothing to write, and nothing was written");
            return;
        }
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

    #[test]
    fn matmul_is_loops(
        m in 0..300_u32, n in 0..70_u32, k in 0..70_u32, launch in 0..SMALL.len(), seed in any::<u64>(),
    ) {
        let factors = Factors::random(&mut Random::new(seed), [m, n, k]);
        let device = Device::simulated(Simulation::default());
        let found = multiplied(&device, SMALL[launch], [m, n, k], &factors.a, &factors.b);
        if n == 0 && m > 0 {
            // Nothing is written, but the pipeline has a column for it.
            let error = found.unwrap_err();
            prop_assert!(matches!(error.detail(), Detail::Unwritten { kernel: "matmul", first: 0, .. }), "{error}");
            return Ok(());
        }
        factors.check(&found.unwrap(), [m, n, k]);
    }

    #[test]
    fn matmul_of_small_whole_numbers_is_exact(n in 1..2000_u32, k in 1..20_u32, seed in any::<u64>()) {
        let (shape, mut random) = ([9, n, k], Random::new(seed));
        let mut numbers = |len| (0..len).map(|_| random.below(100) as f32 - 50.0).collect::<Vec<_>>();
        let (a, b) = (numbers(9 * k), numbers(k * n));
        let factors = Factors::new(a, b, shape);
        let device = Device::simulated(Simulation::default());
        let found = multiplied(&device, LAUNCHES[0], shape, &factors.a, &factors.b).unwrap();
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
        [(13, 1, 1), (3, 5, 1), (u32::MAX, u32::MAX, u32::MAX), (1, u32::MAX, 1 << 31)]
    {
        let error = pipeline.run(batch, rows, columns, &x, &mut y).unwrap_err();
        is!(error, Requires { kernel: "transpose", .. });
    }
    let (launch, factors) = (LAUNCHES[0], [0.0; 6]);
    let error = multiplied(&device, launch, [2, 3, 3], &factors, &factors).unwrap_err();
    is!(error, Requires { kernel: "matmul", condition: "product([k, n]) <= b.len()", .. });
    let error =
        multiplied(&device, ((1, 1, 1), (257, 1, 1), 0), [2, 3, 2], &factors[..4], &factors).unwrap_err();
    is!(error, LaunchLimit { kernel: "matmul", value: 257, limit: 256, .. });
}

stream_pipeline! {
    pipeline Refused {
        param batch: u32;
        param rows: u32;
        param columns: u32;
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 12;
        stage all {
            copy x -> dx;
            transpose<<<1, 256>>>(batch, rows, columns, &dx, out dy);
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
        for shape in shapes {
            for launch in LAUNCHES {
                let x = random.any_floats(shape.iter().product::<u32>() as usize);
                cases.push((format!("{shape:?} with {launch:?}"), transposed(device, launch, shape, &x)?));
            }
        }
        Ok(cases)
    });
    assert_eq!(gpu.len(), shapes.len() * LAUNCHES.len());
    for ((what, gpu), (_, simulated)) in gpu.iter().zip(&simulated) {
        assert_close(gpu, simulated, Tolerance::Exact, what);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn matmul_is_as_exact_on_a_gpu() {
    let gpu = Device::cuda(0).expect("a GPU");
    let mut random = Random::new(2);
    let shapes = [
        [0, 3, 3],
        [1, 1, 1],
        [3, 0, 5],
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
        let multiply = |&launch| multiplied(&gpu, launch, shape, &factors.a, &factors.b).unwrap();
        let results: Vec<_> = SMALL.iter().map(multiply).collect();
        for found in &results {
            factors.check(found, shape);
            // Neither the grid nor the block changes a bit, except the sign of a zero.
            assert_close(found, &results[0], Tolerance::Ulps(0), format_args!("{shape:?}"));
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
    let (gpu, simulated) =
        on_gpu_and_simulated(|device| multiplied(device, ((11, 9, 1), (256, 1, 1), 0), shape, &a, &b));
    assert_close(&gpu, &simulated, Tolerance::Exact, "a large product");
}
