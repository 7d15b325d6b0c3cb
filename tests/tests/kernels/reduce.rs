//! The reductions of `thalweg-kernels`: the simulated device is compared with plain loops, and a GPU with the
//! simulated device.

use proptest::prelude::*;
use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_kernels::{daxpy, dot_f32, dot_f64, max_f32, max_f64, min_f32, min_f64, sum_f32, sum_f64};
use thalweg_tests::compare::{Tolerance, assert_close, on_gpu_and_simulated};
use thalweg_tests::random::Random;

/// The free choices of a launch.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// The number of elements of each chunk that count.
    n: u32,
    parts: u32,
    grid: (u32, u32, u32),
    block: (u32, u32, u32),
}

impl Shape {
    /// The largest number of additions that an element goes through, in the launch and in the one that adds
    /// up its parts.
    fn additions(&self) -> f64 {
        let blocks = (self.grid.0 * self.grid.1 * self.grid.2).min(self.parts);
        let threads = blocks * self.block.0 * self.block.1 * self.block.2;
        f64::from(self.n.div_ceil(threads) + 10 + self.parts.div_ceil(256) + 10)
    }
}

macro_rules! reductions {
    ($($pipeline:ident of $type:ident in $module:ident: $sum:ident $dot:ident $min:ident $max:ident)*) => {$(
        stream_pipeline! {
            /// Every reduction of one type: in parts, and as one value.
            pipeline $pipeline {
                param shape: Shape;
                input x: [$type];
                input y: [$type];
                output sums: [f64; shape.parts as usize] per chunk;
                output dots: [f64; shape.parts as usize] per chunk;
                output least: [$type; shape.parts as usize] per chunk;
                output greatest: [$type; shape.parts as usize] per chunk;
                output sum: [f64] per chunk;
                output dot: [f64] per chunk;
                output first: [$type] per chunk;
                output last: [$type] per chunk;
                device d_sums: [f64; shape.parts as usize] per chunk;
                device d_dots: [f64; shape.parts as usize] per chunk;
                device d_least: [$type; shape.parts as usize] per chunk;
                device d_greatest: [$type; shape.parts as usize] per chunk;
                device d_sum: [f64] per chunk;
                device d_dot: [f64] per chunk;
                device d_first: [$type] per chunk;
                device d_last: [$type] per chunk;
                chunk c = auto;
                stage load { copy x -> dx; copy y -> dy; }
                stage in_parts {
                    $sum<<<shape.grid, shape.block>>>(shape.n.min(c.len as u32), shape.parts, &dx, out d_sums);
                    $dot<<<shape.grid, shape.block>>>(shape.n.min(c.len as u32), shape.parts, &dx, &dy, out d_dots);
                    $min<<<shape.grid, shape.block>>>(shape.n.min(c.len as u32), shape.parts, &dx, out d_least);
                    $max<<<shape.grid, shape.block>>>(shape.n.min(c.len as u32), shape.parts, &dx, out d_greatest);
                }
                stage whole {
                    sum_f64<<<1, 256>>>(shape.parts, 1, &d_sums, out d_sum);
                    sum_f64<<<1, 256>>>(shape.parts, 1, &d_dots, out d_dot);
                    $min<<<1, 256>>>(shape.parts, 1, &d_least, out d_first);
                    $max<<<1, 256>>>(shape.parts, 1, &d_greatest, out d_last);
                }
                stage store {
                    copy d_sums -> sums;
                    copy d_dots -> dots;
                    copy d_least -> least;
                    copy d_greatest -> greatest;
                    copy d_sum -> sum;
                    copy d_dot -> dot;
                    copy d_first -> first;
                    copy d_last -> last;
                }
            }
        }

        mod $module {
            use super::*;

            /// Sums, dot products, the least and the greatest elements: all parts, and one value for each
            /// chunk.
            #[derive(Debug)]
            pub struct Reduced {
                pub parts: ([Vec<f64>; 2], [Vec<$type>; 2]),
                pub whole: ([Vec<f64>; 2], [Vec<$type>; 2]),
            }

            pub fn run(device: &Device, chunk: usize, shape: Shape, x: &[$type], y: &[$type]) -> thalweg::Result<Reduced> {
                let room = |len: usize| ([vec![7.0; len], vec![7.0; len]], [vec![7.0; len], vec![7.0; len]]);
                let chunks = x.len().div_ceil(chunk);
                let mut found = Reduced { parts: room(chunks * shape.parts as usize), whole: room(chunks) };
                let ([sums, dots], [least, greatest]) = &mut found.parts;
                let ([sum, dot], [first, last]) = &mut found.whole;
                let mut pipeline = $pipeline::options(device).chunk(chunk).build()?;
                pipeline.run(shape, x, y, sums, dots, least, greatest, sum, dot, first, last)?;
                Ok(found)
            }

            /// `minimum` and `maximum` of IEEE 754-2019, by the total order.
            fn bounds(x: &[$type]) -> [$type; 2] {
                if x.iter().any(|x| x.is_nan()) {
                    return [$type::NAN; 2];
                }
                let (least, greatest) = (x.iter().min_by(|a, b| a.total_cmp(b)), x.iter().max_by(|a, b| a.total_cmp(b)));
                [*least.unwrap_or(&$type::INFINITY), *greatest.unwrap_or(&$type::NEG_INFINITY)]
            }

            /// Checks each chunk's values against plain loops, and its parts against its values.
            pub fn check(found: &Reduced, chunk: usize, shape: Shape, x: &[$type], y: &[$type]) {
                let count = shape.parts as usize;
                for (c, (x, y)) in x.chunks(chunk).zip(y.chunks(chunk)).enumerate() {
                    let what = format!("chunk {c} of {chunk}, {shape:?}");
                    let n = x.len().min(shape.n as usize);
                    let ([sums, dots], [least, greatest]) = &found.parts;
                    let ([sum, dot], [first, last]) = &found.whole;

                    let product = |(&x, &y): (&$type, &$type)| f64::from(x) * f64::from(y);
                    let terms: [Vec<f64>; 2] =
                        [x[..n].iter().map(|&x| x.into()).collect(), x[..n].iter().zip(y).map(product).collect()];
                    for (terms, whole, parts) in [(&terms[0], sum, sums), (&terms[1], dot, dots)] {
                        // Each addition is off by half a unit in the last place; the half as much again is
                        // for the products of such errors, and for the loop's own error.
                        let size: f64 = terms.iter().filter(|term| term.is_finite()).map(|term| term.abs()).sum();
                        let absolute = 1.5 * Shape { n: n as u32, ..shape }.additions() * 0.5 * f64::EPSILON * size;
                        let tolerance = Tolerance::Within { absolute, relative: 0.0 };
                        assert_close(&whole[c..=c], &[total(terms)], tolerance, &what);
                        assert_close(&[total(&parts[c * count..][..count])], &whole[c..=c], tolerance, &what);
                    }

                    let expected = bounds(&x[..n]);
                    assert_close(&[first[c], last[c]], &expected, Tolerance::Exact, &what);
                    let of_parts = [bounds(&least[c * count..][..count])[0], bounds(&greatest[c * count..][..count])[1]];
                    assert_close(&of_parts, &expected, Tolerance::Exact, &what);
                }
            }

            /// Checks that both devices give the same bits.
            pub fn check_both(chunk: usize, shape: Shape, x: &[$type], y: &[$type]) {
                let what = format!("{} in chunks of {chunk}, {shape:?}", x.len());
                let (gpu, simulated) = on_gpu_and_simulated(|device| run(device, chunk, shape, x, y));
                for (gpu, simulated) in [(&gpu.parts, &simulated.parts), (&gpu.whole, &simulated.whole)] {
                    for i in 0..2 {
                        assert_close(&gpu.0[i], &simulated.0[i], Tolerance::Exact, &what);
                        assert_close(&gpu.1[i], &simulated.1[i], Tolerance::Exact, &what);
                    }
                }
            }
        }
    )*};
}
reductions! {
    Reduce32 of f32 in singles: sum_f32 dot_f32 min_f32 max_f32
    Reduce64 of f64 in doubles: sum_f64 dot_f64 min_f64 max_f64
}

/// The sum, with the rounding error of each addition added up separately (A. Neumaier, 1974). Infinities and
/// NaN are the same in any order.
fn total(terms: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0);
    for &term in terms {
        let next = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    if sum.is_finite() { sum + lost } else { sum }
}

/// Elements: arbitrary floats or, in half of the cases, whole ones of both signs, so that finite sums are
/// tried too.
fn data(random: &mut Random, len: usize) -> Vec<f32> {
    if random.below(2) == 0 { random.any_floats(len) } else { random.floats(len, -1000.0, 1000.0) }
}

/// The same as doubles, with digits that floats do not have.
fn widened(random: &mut Random, data: &[f32]) -> Vec<f64> {
    data.iter().map(|&x| f64::from(x) * random.between(0.5, 2.0)).collect()
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let grid = (1..5_u32, 1..4_u32, 1..3_u32);
    let block = prop_oneof![
        (1..=1024_u32).prop_map(|threads| (threads, 1, 1)),
        (1..20_u32, 1..10_u32, 1..6_u32).prop_filter("1,024 threads", |(x, y, z)| x * y * z <= 1024),
    ];
    (0..5000_u32, 1..40_u32, grid, block).prop_map(|(n, parts, grid, block)| Shape { n, parts, grid, block })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reductions_are_loops(len in 0..8000_usize, chunk in 1..5000_usize, shape in any_shape(), seed in any::<u64>()) {
        // Parts are checked one by one, so there are not too many.
        let chunk = chunk.max(len / 20);
        let device = Device::simulated(Simulation::default());
        let mut random = Random::new(seed);
        let (x, y) = (data(&mut random, len), data(&mut random, len));
        singles::check(&singles::run(&device, chunk, shape, &x, &y).unwrap(), chunk, shape, &x, &y);
        let (x, y) = (widened(&mut random, &x), widened(&mut random, &y));
        doubles::check(&doubles::run(&device, chunk, shape, &x, &y).unwrap(), chunk, shape, &x, &y);
    }
}

#[test]
fn corners_of_the_least_and_the_greatest() {
    let device = Device::simulated(Simulation::default());
    let shape = Shape { n: u32::MAX, parts: 2, grid: (2, 1, 1), block: (32, 1, 1) };
    let tiny = f32::from_bits(1);
    for (x, least, greatest) in [
        (&[0.0, -0.0][..], -0.0, 0.0),
        (&[-0.0, 0.0], -0.0, 0.0),
        (&[-0.0], -0.0, -0.0),
        (&[tiny, -tiny, 0.0], -tiny, tiny),
        (&[f32::INFINITY, 1.0, f32::NEG_INFINITY], f32::NEG_INFINITY, f32::INFINITY),
        (&[1.0, f32::NAN, 2.0], f32::NAN, f32::NAN),
        (&[-f32::NAN], f32::NAN, f32::NAN),
    ] {
        let found = singles::run(&device, 100, shape, x, x).unwrap();
        let (_, [first, last]) = &found.whole;
        assert_close(&[first[0], last[0]], &[least, greatest], Tolerance::Exact, format_args!("{x:?}"));
    }
    let nothing = Shape { n: 0, ..shape };
    let found = singles::run(&device, 100, nothing, &[1.0], &[1.0]).unwrap();
    assert_eq!(found.whole, ([vec![0.0], vec![0.0]], [vec![f32::INFINITY], vec![f32::NEG_INFINITY]]));
}

/// Floats that would lose most of each other's digits in an accumulator of their own kind.
#[test]
fn a_sum_of_floats_is_added_in_doubles() {
    let shape = Shape { n: u32::MAX, parts: 1, grid: (1, 1, 1), block: (1, 1, 1) };
    let x: Vec<f32> = [16_777_216.0, 1.0].into_iter().cycle().take(2000).collect();
    let found = singles::run(&Device::simulated(Simulation::default()), 5000, shape, &x, &x).unwrap();
    assert_eq!(found.whole.0[0], [1000.0 * 16_777_217.0]);
}

#[test]
#[ignore = "needs a CUDA device"]
fn reductions_are_the_same_on_a_gpu() {
    let mut random = Random::new(2);
    let shapes = [
        (1, (1, 1, 1), (1, 1, 1)),
        (1, (1, 1, 1), (1024, 1, 1)),
        (264, (264, 1, 1), (256, 1, 1)),
        (7, (4, 1, 1), (31, 1, 1)),
        (7, (20, 1, 1), (33, 1, 1)),
        (100, (5, 3, 2), (10, 10, 10)),
        (33, (33, 1, 1), (1000, 1, 1)),
        (2, (1, 1, 3), (3, 2, 5)),
    ];
    for len in [0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 67_584, 1_000_000_usize] {
        for (parts, grid, block) in shapes {
            let n = random.below(2 * len as u64 + 1) as u32;
            for n in [n, u32::MAX] {
                let shape = Shape { n, parts, grid, block };
                let chunk = if len > 1000 { len.div_ceil(2) } else { len.max(1) };
                let (x, y) = (data(&mut random, len), data(&mut random, len));
                singles::check_both(chunk, shape, &x, &y);
                let (x, y) = (widened(&mut random, &x), widened(&mut random, &y));
                doubles::check_both(chunk, shape, &x, &y);
            }
        }
    }
}

stream_pipeline! {
    /// The sum of the whole run, in a carry, and the partial sums of each chunk. There is room for 8, all of
    /// which the simulated device expects to be written.
    #[allow(deprecated, reason = "the fill shows in what no part is")]
    pipeline Total {
        param n: u32;
        param parts: u32;
        input x: [f32];
        carry total: [f64] = 0.0;
        output sums: [f64; 8] per chunk;
        device d_sums: [f64; 8] per chunk;
        device d_sum: [f64] per chunk;
        chunk c = 1000;
        depth = 3;
        stage load { copy x -> dx; }
        stage add {
            fill d_sums = -1.0;
            sum_f32<<<4, 64>>>(n, parts, &dx, out d_sums);
            sum_f64<<<1, 64>>>(parts, 1, &d_sums, out d_sum);
            daxpy<<<1, 1>>>(1.0, &d_sum, &mut total);
        }
        stage store { copy d_sums -> sums; }
    }
}

fn a_total(device: &Device) {
    let mut pipeline = Total::new(device).unwrap();
    let x: Vec<f32> = (0..5000_u16).map(f32::from).collect();
    for parts in [0, 1, 3, 4, 5, 8] {
        let (mut total, mut sums) = ([9.0], [0.0; 40]);
        let result = pipeline.run(1000, parts, &x, &mut total, &mut sums);
        if device.is_simulated() && parts < 8 {
            let error = result.unwrap_err();
            let &Detail::Unwritten { kernel: "sum_f32", elements: 8, unwritten, first, .. } = error.detail()
            else {
                panic!("{error}");
            };
            assert_eq!((first, unwritten), (parts as usize, 8 - parts as usize), "{error}");
            continue;
        }
        result.unwrap();
        assert_eq!(total, [if parts == 0 { 0.0 } else { 4999.0 * 2500.0 }], "{parts} parts");
        let (working, parts) = (parts.min(4) as usize, parts as usize);
        for sums in sums.chunks(8) {
            assert!(sums[..working].iter().all(|&sum| sum > 0.0), "{sums:?}");
            assert!(sums[working..parts].iter().all(|&sum| sum == 0.0), "{sums:?}");
            assert!(sums[parts..].iter().all(|&sum| sum == -1.0), "{sums:?}");
        }
    }
}

#[test]
fn a_carry_totals_the_run() {
    a_total(&Device::simulated(Simulation::default()));
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_carry_totals_the_run_on_a_gpu() {
    a_total(&Device::cuda(0).expect("a GPU"));
}

#[test]
fn what_would_leave_the_slices_is_refused() {
    let mut pipeline = Total::new(&Device::simulated(Simulation::default())).unwrap();
    for (n, parts) in [(1001, 8), (u32::MAX, 1), (1000, 9), (0, u32::MAX)] {
        let error = pipeline.run(n, parts, &[1.0; 1000], &mut [0.0], &mut [0.0; 8]).unwrap_err();
        assert!(matches!(error.detail(), Detail::Requires { kernel: "sum_f32", .. }), "{error}");
    }
}
