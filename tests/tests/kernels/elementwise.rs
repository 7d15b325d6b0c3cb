//! The maps of `thalweg-kernels`: the simulated device is compared with plain loops, and a GPU with the
//! simulated device.

use proptest::prelude::*;
use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_kernels::{
    add_f32, add_f64, clamp_f32, clamp_f64, daxpy, exp_f32, exp_f64, multiply_f32, multiply_f64, relu_f32,
    relu_f64, saxpy, scale_f32, scale_f64, sqrt_f32, sqrt_f64,
};
use thalweg_tests::compare::{Element, Tolerance, assert_close, on_gpu_and_simulated};
use thalweg_tests::launches::Dim3;
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
                    $scale<<<blocks(c.len, block), block>>>(a, b, &dx, out d_scaled);
                    $add<<<blocks(c.len, block), block>>>(&dx, &dy, out d_sum);
                    $multiply<<<blocks(c.len, block), block>>>(&dx, &dy, out d_product);
                    $exp<<<blocks(c.len, block), block>>>(&dx, out d_power);
                    $sqrt<<<blocks(c.len, block), block>>>(&dx, out d_root);
                    $relu<<<blocks(c.len, block), block>>>(&dx, out d_positive);
                    $clamp<<<blocks(c.len, block), block>>>(low, high, &dx, out d_clamped);
                    $axpy<<<blocks(c.len, block), block>>>(a, &dx, &mut dz);
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
            assert_maps(&gpu, &simulated, Tolerance::Ulps(3), Tolerance::Exact, &what);

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
    /// The caller gives the grid.
    pipeline Launched {
        param grid: Dim3;
        param block: Dim3;
        param low: f32;
        param high: f32;
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 10_000;
        stage work {
            copy x -> dx;
            clamp_f32<<<grid, block>>>(low, high, &dx, out dy);
            copy dy -> y;
        }
    }
}

/// A grid with fewer threads along x than elements, or with more than one along another axis.
#[test]
fn a_grid_that_does_not_fit_is_refused() {
    let mut pipeline = Launched::new(&Device::simulated(Simulation::default())).unwrap();
    let (x, mut y) = (vec![0.5; 1000], vec![0.0; 1000]);
    pipeline.run((8, 1, 1), (128, 1, 1), 0.0, 1.0, &x, &mut y).unwrap();
    assert_eq!(y, x);
    let grids = [
        ((1, 1, 1), (1, 1, 1)),
        ((3, 1, 1), (333, 1, 1)),
        ((8, 2, 1), (128, 1, 1)),
        ((8, 1, 1), (128, 1, 2)),
    ];
    for (grid, block) in grids {
        let error = pipeline.run(grid, block, 0.0, 1.0, &x, &mut y).unwrap_err();
        assert!(matches!(error.detail(), Detail::NotCovered { kernel: "clamp::<f32>", .. }), "{error}");
    }
}

#[test]
fn what_would_leave_the_slices_is_refused() {
    let mut pipeline = Launched::new(&Device::simulated(Simulation::default())).unwrap();
    let (x, mut y) = (vec![0.5; 1000], vec![0.0; 1000]);
    for (low, high) in [(1.0, 0.0), (f32::NAN, 0.0), (0.0, f32::NAN)] {
        let error = pipeline.run((4, 1, 1), (256, 1, 1), low, high, &x, &mut y).unwrap_err();
        assert!(matches!(error.detail(), Detail::Requires { kernel: "clamp::<f32>", .. }), "{error}");
    }

    let device = Device::simulated(Simulation::default());
    let stream = Stream::new(&device).unwrap();
    let x = DeviceBuf::from_slice(&device, &[1.0_f32; 7]).unwrap();
    let mut y = DeviceBuf::<f32>::zeroed(&device, 8).unwrap();
    let config = || stream.config(1, 32, 0);
    let refused = [
        sqrt_f32::load(&device).unwrap().launch(config(), &x, &mut y),
        saxpy::load(&device).unwrap().launch(config(), 2.0, &x, &mut y),
    ];
    for refused in refused {
        let error = refused.unwrap_err();
        assert!(matches!(error.detail(), Detail::Requires { .. }), "{error}");
    }
    assert_eq!(y.to_vec().unwrap(), [0.0; 8]);
}

stream_pipeline! {
    /// The sum of each chunk's first element, by way of a carry.
    pipeline Carried {
        input x: [f64];
        carry total: [f64] = 0.0;
        chunk c = 10;
        stage add { copy x -> dx; daxpy<<<1, 1>>>(2.0, &dx, &mut total); }
    }
}

#[test]
fn daxpy_adds_to_a_carry() {
    let mut total = [5.0];
    let x: Vec<f64> = (0..35).map(f64::from).collect();
    Carried::new(&Device::simulated(Simulation::default())).unwrap().run(&x, &mut total).unwrap();
    assert_eq!(total, [2.0 * (0.0 + 10.0 + 20.0 + 30.0)]);
}
