//! The maps of `thalweg-kernels`: the simulated device is compared with plain loops, and a GPU with the
//! simulated device.

use proptest::prelude::*;
use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_kernels::{
    add_f32, add_f64, clamp_f32, clamp_f64, daxpy, exp_f32, exp_f64, multiply_f32, multiply_f64, relu_f32,
    relu_f64, saxpy, scale_f32, scale_f64, sqrt_f32, sqrt_f64,
};
use thalweg_tests::compare::{Element, Tolerance, assert_close, on_gpu_and_simulated};
use thalweg_tests::random::Random;

/// The borders of blocks, and more than one chunk of any size below.
const LENGTHS: [usize; 12] = [0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 1025, 1_000_000];

/// Rounds of random data in one of [`Maps`]' results.
const RESULTS: [&str; 8] = ["scale", "add", "multiply", "exp", "sqrt", "relu", "clamp", "axpy"];

macro_rules! maps {
    ($(
        $pipeline:ident of $type:ident in $module:ident:
        $scale:ident $add:ident $multiply:ident $exp:ident $sqrt:ident $relu:ident $clamp:ident $axpy:ident
    )*) => {$(
        stream_pipeline! {
            /// Every map of one type.
            pipeline $pipeline {
                param block: u32;
                param a: $type;
                param b: $type;
                param low: $type;
                param high: $type;
                input x: [$type];
                input y: [$type];
                output scaled: [$type];
                output sum: [$type];
                output product: [$type];
                output power: [$type];
                output root: [$type];
                output positive: [$type];
                output clamped: [$type];
                inout z: [$type];
                device d_scaled: [$type];
                device d_sum: [$type];
                device d_product: [$type];
                device d_power: [$type];
                device d_root: [$type];
                device d_positive: [$type];
                device d_clamped: [$type];
                chunk c = auto;
                stage load { copy x -> dx; copy y -> dy; copy z -> dz; }
                stage work {
                    $scale<<<blocks(c.len, block), block>>>(c.len as u32, a, b, &dx, out d_scaled);
                    $add<<<blocks(c.len, block), block>>>(c.len as u32, &dx, &dy, out d_sum);
                    $multiply<<<blocks(c.len, block), block>>>(c.len as u32, &dx, &dy, out d_product);
                    $exp<<<blocks(c.len, block), block>>>(c.len as u32, &dx, out d_power);
                    $sqrt<<<blocks(c.len, block), block>>>(c.len as u32, &dx, out d_root);
                    $relu<<<blocks(c.len, block), block>>>(c.len as u32, &dx, out d_positive);
                    $clamp<<<blocks(c.len, block), block>>>(c.len as u32, low, high, &dx, out d_clamped);
                    $axpy<<<blocks(c.len, block), block>>>(c.len as u32, a, &dx, &mut dz);
                }
                stage store {
                    copy d_scaled -> scaled;
                    copy d_sum -> sum;
                    copy d_product -> product;
                    copy d_power -> power;
                    copy d_root -> root;
                    copy d_positive -> positive;
                    copy d_clamped -> clamped;
                    copy dz -> z;
                }
            }
        }

        mod $module {
            use super::*;

            /// The pipeline's results for some data, in the order of [`RESULTS`].
            pub fn run(
                device: &Device,
                chunk: usize,
                block: u32,
                [a, b, low, high]: [$type; 4],
                [x, y, z]: [&[$type]; 3],
            ) -> thalweg::Result<[Vec<$type>; 8]> {
                let mut pipeline = $pipeline::options(device).chunk(chunk).build()?;
                let mut results: [Vec<$type>; 8] = std::array::from_fn(|_| vec![7.0; x.len()]);
                results[7].copy_from_slice(z);
                let [scaled, sum, product, power, root, positive, clamped, axpy] = &mut results;
                pipeline.run(
                    block, a, b, low, high, x, y, scaled, sum, product, power, root, positive, clamped, axpy,
                )?;
                Ok(results)
            }

            /// The same by plain loops, apart from the powers.
            pub fn expected(
                [a, b, low, high]: [$type; 4],
                [x, y, z]: [&[$type]; 3],
                exp: impl Fn($type) -> $type,
            ) -> [Vec<$type>; 8] {
                let of_x = |f: &dyn Fn($type) -> $type| x.iter().map(|&x| f(x)).collect::<Vec<_>>();
                let of_pairs = |f: &dyn Fn($type, $type) -> $type| {
                    (0..x.len()).map(|i| f(x[i], y[i])).collect::<Vec<_>>()
                };
                [
                    of_x(&|x| a * x + b),
                    of_pairs(&|x, y| x + y),
                    of_pairs(&|x, y| x * y),
                    of_x(&exp),
                    of_x(&|x| x.sqrt()),
                    of_x(&|x| if x.is_nan() || x.to_bits() == (-0.0 as $type).to_bits() { x } else { x.max(0.0) }),
                    of_x(&|x| x.clamp(low, high)),
                    (0..x.len()).map(|i| a * x[i] + z[i]).collect(),
                ]
            }
        }
    )*};
}
maps! {
    Maps32 of f32 in singles:
        scale_f32 add_f32 multiply_f32 exp_f32 sqrt_f32 relu_f32 clamp_f32 saxpy
    Maps64 of f64 in doubles:
        scale_f64 add_f64 multiply_f64 exp_f64 sqrt_f64 relu_f64 clamp_f64 daxpy
}

/// e to the power `x`, computed independently: `2^k` times the series of the rest.
fn exp_by_series(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    let x = x.clamp(-800.0, 800.0);
    let k = (x / std::f64::consts::LN_2).round();
    // The logarithm of 2 is in two parts; `k` times the first part is exact.
    let high = f64::from_bits(0x3fe6_2e42_fee0_0000);
    let rest = (x - k * high) - k * 1.908_214_929_270_587_7e-10;
    let series = (1..=20).rev().fold(1.0, |sum, n| 1.0 + sum * rest / f64::from(n));
    // This takes two steps, since `2^k` itself may be beyond the range of a double.
    let half = (k / 2.0).floor();
    series * 2_f64.powi(half as i32) * 2_f64.powi((k - half) as i32)
}

/// Checks results by name; powers have a tolerance of their own.
fn assert_maps<T: Element>(
    found: &[Vec<T>; 8],
    expected: &[Vec<T>; 8],
    exp: Tolerance,
    axpy: Tolerance,
    what: &str,
) {
    for (name, (found, expected)) in RESULTS.into_iter().zip(found.iter().zip(expected)) {
        let tolerance = match name {
            "exp" => exp,
            "axpy" => axpy,
            _ => Tolerance::Exact,
        };
        assert_close(found, expected, tolerance, format_args!("{name}, {what}"));
    }
}

/// Arbitrary doubles, and those of arbitrary floats.
fn any_doubles(random: &mut Random, len: usize) -> Vec<f64> {
    let floats = random.any_floats(len);
    floats
        .into_iter()
        .map(|x| if random.below(2) == 0 { x.into() } else { f64::from_bits(random.bits()) })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn maps_are_loops(len in 0..3000_usize, chunk in 1..2000_usize, block in 1..=1024_u32, seed in any::<u64>()) {
        let device = Device::simulated(Simulation::default());
        let mut random = Random::new(seed);
        let what = format!("length {len}, chunk {chunk}, block {block}");

        let data = [(); 3].map(|()| random.any_floats(len));
        let data = data.each_ref().map(|data| &data[..]);
        let [a, b, low, width] = [-4.0, -4.0, -2.0, 0.0].map(|least| random.between(least, 4.0) as f32);
        let parameters = [a, b, low, low + width];
        let found = singles::run(&device, chunk, block, parameters, data).unwrap();
        let expected = singles::expected(parameters, data, |x| exp_by_series(x.into()) as f32);
        assert_maps(&found, &expected, Tolerance::Ulps(1), Tolerance::Exact, &what);

        let data = [(); 3].map(|()| any_doubles(&mut random, len));
        let data = data.each_ref().map(|data| &data[..]);
        let parameters = parameters.map(f64::from);
        let found = doubles::run(&device, chunk, block, parameters, data).unwrap();
        let expected = doubles::expected(parameters, data, exp_by_series);
        assert_maps(&found, &expected, Tolerance::Ulps(8), Tolerance::Exact, &what);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn maps_are_the_same_on_a_gpu() {
    let mut random = Random::new(1);
    for len in LENGTHS {
        for block in [1, 32, 100, 256, 1024] {
            let what = format!("length {len}, block {block}");
            // Blocks of one thread are slow, and much data would show no more.
            if block == 1 && len > 2000 {
                continue;
            }
            let chunk = len.div_ceil(2).max(1);
            let data = [(); 3].map(|()| random.any_floats(len));
            let data = data.each_ref().map(|data| &data[..]);
            let parameters = [1.7, -0.3, -1.5, 2.5];
            let (gpu, simulated) =
                on_gpu_and_simulated(|device| singles::run(device, chunk, block, parameters, data));
            // `saxpy` is fused on a GPU: if product and sum nearly cancel, the difference is any number of
            // ulp.
            let fused: Vec<_> = (0..len).map(|i| 1.7_f32.mul_add(data[0][i], data[2][i])).collect();
            let mut expected = simulated;
            expected[7] = fused;
            assert_maps(&gpu, &expected, Tolerance::Ulps(3), Tolerance::Exact, &what);

            let data = [(); 3].map(|()| any_doubles(&mut random, len));
            let data = data.each_ref().map(|data| &data[..]);
            let parameters = parameters.map(f64::from);
            let (gpu, simulated) =
                on_gpu_and_simulated(|device| doubles::run(device, chunk, block, parameters, data));
            assert_maps(&gpu, &simulated, Tolerance::Ulps(2), Tolerance::Exact, &what);
        }
    }
}

stream_pipeline! {
    /// The caller gives the grid, and a number of elements.
    #[allow(deprecated, reason = "the fill shows in what the grid leaves out")]
    pipeline Launched {
        param n: u32;
        param grid: u32;
        param block: u32;
        param low: f32;
        param high: f32;
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 10_000;
        stage work {
            copy x -> dx;
            fill dy = 7.0;
            clamp_f32<<<grid, block>>>(n, low, high, &dx, out dy);
            copy dy -> y;
        }
    }
}

/// Elements beyond a grid that is too small, or beyond the number of elements, keep their values. The
/// simulated device reports them.
fn a_grid_that_is_too_small(device: &Device) {
    let mut pipeline = Launched::new(device).unwrap();
    let x = vec![0.5; 1000];
    for (n, grid, block, reached) in [(1000, 1, 1, 1), (1000, 3, 100, 300), (999, 8, 128, 999), (0, 5, 32, 0)]
    {
        let mut y = vec![0.0; 1000];
        let result = pipeline.run(n, grid, block, 0.0, 1.0, &x, &mut y);
        if device.is_simulated() {
            let error = result.unwrap_err();
            let &Detail::Unwritten { kernel: "clamp_f32", elements: 1000, unwritten, first, .. } =
                error.detail()
            else {
                panic!("{error}");
            };
            assert_eq!((first, unwritten), (reached, 1000 - reached), "{error}");
            continue;
        }
        result.unwrap();
        assert!(y[..reached].iter().all(|&y| y == 0.5), "{reached} of {n}");
        assert!(y[reached..].iter().all(|&y| y == 7.0), "{reached} of {n}");
    }
}

#[test]
fn a_grid_that_is_too_small_does_less() {
    a_grid_that_is_too_small(&Device::simulated(Simulation::default()));
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_grid_that_is_too_small_does_less_on_a_gpu() {
    a_grid_that_is_too_small(&Device::cuda(0).expect("a GPU"));
}

#[test]
fn what_would_leave_the_slices_is_refused() {
    let mut pipeline = Launched::new(&Device::simulated(Simulation::default())).unwrap();
    let (x, mut y) = (vec![0.5; 1000], vec![0.0; 1000]);
    for (n, low, high) in
        [(1001, 0.0, 1.0), (u32::MAX, 0.0, 1.0), (1, 1.0, 0.0), (1, f32::NAN, 0.0), (1, 0.0, f32::NAN)]
    {
        let error = pipeline.run(n, 4, 256, low, high, &x, &mut y).unwrap_err();
        assert!(matches!(error.detail(), Detail::Requires { kernel: "clamp_f32", .. }), "{error}");
    }
}

stream_pipeline! {
    /// The sum of each chunk's first element, by way of a carry.
    pipeline Carried {
        input x: [f64];
        carry total: [f64] = 0.0;
        chunk c = 10;
        stage add { copy x -> dx; daxpy<<<1, 1>>>(1, 2.0, &dx, &mut total); }
    }
}

#[test]
fn daxpy_adds_to_a_carry() {
    let mut total = [5.0];
    let x: Vec<f64> = (0..35).map(f64::from).collect();
    Carried::new(&Device::simulated(Simulation::default())).unwrap().run(&x, &mut total).unwrap();
    assert_eq!(total, [2.0 * (0.0 + 10.0 + 20.0 + 30.0)]);
}

stream_pipeline! {
    /// Grids and blocks with more than one axis.
    pipeline Flat {
        param grid: (u32, u32, u32);
        param block: (u32, u32, u32);
        input x: [f32];
        inout y: [f32];
        input v: [f64];
        inout w: [f64];
        chunk c = 1000;
        stage work {
            copy x -> dx;
            copy y -> dy;
            copy v -> dv;
            copy w -> dw;
            saxpy<<<grid, block>>>(c.len as u32, 2.0, &dx, &mut dy);
            daxpy<<<grid, block>>>(c.len as u32, 2.0, &dv, &mut dw);
            copy dy -> y;
            copy dw -> w;
        }
    }
}

/// The threads along x add to each element once.
fn more_than_one_axis(device: &Device) {
    let mut pipeline = Flat::new(device).unwrap();
    for (grid, block, reached) in
        [((4, 1, 1), (100, 1, 1), 400), ((2, 3, 4), (16, 8, 8), 32), ((1, 2, 1), (1, 1, 64), 1)]
    {
        let (mut y, mut w) = (vec![1.0; 1000], vec![1.0; 1000]);
        pipeline.run(grid, block, &[1.0; 1000], &mut y, &[1.0; 1000], &mut w).unwrap();
        assert!((0..1000).all(|i| y[i] == if i < reached { 3.0 } else { 1.0 }), "{grid:?} {block:?}");
        assert!((0..1000).all(|i| w[i] == if i < reached { 3.0 } else { 1.0 }), "{grid:?} {block:?}");
    }
}

#[test]
fn sums_in_place_add_once_along_every_axis() {
    more_than_one_axis(&Device::simulated(Simulation::default()));
}

#[test]
#[ignore = "needs a CUDA device"]
fn sums_in_place_add_once_along_every_axis_on_a_gpu() {
    more_than_one_axis(&Device::cuda(0).expect("a GPU"));
}
