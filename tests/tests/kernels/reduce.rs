//! The reductions of `thalweg-kernels`: the simulated device is compared with plain loops, and a GPU with the
//! simulated device.

use proptest::prelude::*;
use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_kernels::{daxpy, dot_f32, dot_f64, max_f32, max_f64, min_f32, min_f64, sum_f32, sum_f64};
use thalweg_tests::compare::{Tolerance, assert_close, on_gpu_and_simulated};
use thalweg_tests::random::Random;

/// The free choices of a launch.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// Blocks, and parts of each result.
    parts: u32,
    /// Threads of a block.
    block: u32,
}

impl Shape {
    /// The largest number of additions that an element goes through, in the launch and in the one that adds
    /// up its parts.
    fn additions(&self, n: usize) -> f64 {
        let threads = (self.parts * self.block) as usize;
        (n.div_ceil(threads) + 10 + self.parts.div_ceil(256) as usize + 10) as f64
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
                    $sum<<<shape.parts, shape.block>>>(&dx, out d_sums);
                    $dot<<<shape.parts, shape.block>>>(&dx, &dy, out d_dots);
                    $min<<<shape.parts, shape.block>>>(&dx, out d_least);
                    $max<<<shape.parts, shape.block>>>(&dx, out d_greatest);
                }
                stage whole {
                    sum_f64<<<1, 256>>>(&d_sums, out d_sum);
                    sum_f64<<<1, 256>>>(&d_dots, out d_dot);
                    $min<<<1, 256>>>(&d_least, out d_first);
                    $max<<<1, 256>>>(&d_greatest, out d_last);
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
                    let n = x.len();
                    let ([sums, dots], [least, greatest]) = &found.parts;
                    let ([sum, dot], [first, last]) = &found.whole;

                    let product = |(&x, &y): (&$type, &$type)| f64::from(x) * f64::from(y);
                    let terms: [Vec<f64>; 2] =
                        [x.iter().map(|&x| x.into()).collect(), x.iter().zip(y).map(product).collect()];
                    for (terms, whole, parts) in [(&terms[0], sum, sums), (&terms[1], dot, dots)] {
                        // Each addition is off by half a unit in the last place; the half as much again is
                        // for the products of such errors, and for the loop's own error.
                        let size: f64 = terms.iter().filter(|term| term.is_finite()).map(|term| term.abs()).sum();
                        let absolute = 1.5 * shape.additions(n) * 0.5 * f64::EPSILON * size;
                        let tolerance = Tolerance::Within { absolute, relative: 0.0 };
                        assert_close(&whole[c..=c], &[total(terms)], tolerance, &what);
                        assert_close(&[total(&parts[c * count..][..count])], &whole[c..=c], tolerance, &what);
                    }

                    let expected = bounds(x);
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
    (1..40_u32, 1..=1024_u32).prop_map(|(parts, block)| Shape { parts, block })
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
    let shape = Shape { parts: 2, block: 32 };
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
    // There is no chunk of no elements, but a buffer of none.
    let (stream, nothing) = (Stream::new(&device).unwrap(), DeviceBuf::<f32>::zeroed(&device, 0).unwrap());
    let (mut sum, mut least) =
        (DeviceBuf::zeroed(&device, 1).unwrap(), DeviceBuf::zeroed(&device, 1).unwrap());
    sum_f32::load(&device).unwrap().launch(stream.config(1, 32, 0), &nothing, &mut sum).unwrap();
    min_f32::load(&device).unwrap().launch(stream.config(1, 32, 0), &nothing, &mut least).unwrap();
    assert_eq!((sum.to_vec().unwrap(), least.to_vec().unwrap()), (vec![0.0], vec![f32::INFINITY]));
}

/// Floats that would lose most of each other's digits in an accumulator of their own kind.
#[test]
fn a_sum_of_floats_is_added_in_doubles() {
    let shape = Shape { parts: 1, block: 1 };
    let x: Vec<f32> = [16_777_216.0, 1.0].into_iter().cycle().take(2000).collect();
    let found = singles::run(&Device::simulated(Simulation::default()), 5000, shape, &x, &x).unwrap();
    assert_eq!(found.whole.0[0], [1000.0 * 16_777_217.0]);
}

#[test]
#[ignore = "needs a CUDA device"]
fn reductions_are_the_same_on_a_gpu() {
    let mut random = Random::new(2);
    let shapes = [(1, 1), (1, 1024), (264, 256), (7, 31), (20, 33), (100, 1000), (33, 1000), (2, 30)];
    for len in [0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 67_584, 1_000_000_usize] {
        for (parts, block) in shapes {
            let shape = Shape { parts, block };
            let chunk = if len > 1000 { len.div_ceil(2) } else { len.max(1) };
            let (x, y) = (data(&mut random, len), data(&mut random, len));
            singles::check_both(chunk, shape, &x, &y);
            let (x, y) = (widened(&mut random, &x), widened(&mut random, &y));
            doubles::check_both(chunk, shape, &x, &y);
        }
    }
}

stream_pipeline! {
    /// The sum of the whole run, in a carry, and the partial sums of each chunk.
    pipeline Total {
        param grid: u32;
        input x: [f32];
        carry total: [f64] = 0.0;
        output sums: [f64; 8] per chunk;
        device d_sums: [f64; 8] per chunk;
        device d_sum: [f64] per chunk;
        chunk c = 1000;
        depth = 3;
        stage load { copy x -> dx; }
        stage add {
            sum_f32<<<grid, 64>>>(&dx, out d_sums);
            sum_f64<<<1, 64>>>(&d_sums, out d_sum);
            daxpy<<<1, 1>>>(1.0, &d_sum, &mut total);
        }
        stage store { copy d_sums -> sums; }
    }
}

fn a_total(device: &Device) {
    let x: Vec<f32> = (0..5000_u16).map(f32::from).collect();
    let (mut total, mut sums) = ([9.0], [0.0; 40]);
    Total::new(device).unwrap().run(8, &x, &mut total, &mut sums).unwrap();
    assert_eq!(total, [4999.0 * 2500.0]);
    assert!(sums.iter().all(|&sum| sum > 0.0), "{sums:?}");
    assert_eq!(sums.iter().sum::<f64>(), 4999.0 * 2500.0);
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

/// A launch has as many blocks as there are parts.
#[test]
fn blocks_without_a_part_and_parts_without_a_block() {
    let device = Device::simulated(Simulation::default());
    let run = |grid| Total::new(&device).unwrap().run(grid, &[1.0; 1000], &mut [0.0], &mut [0.0; 8]);
    run(8).unwrap();
    let error = run(7).unwrap_err();
    assert!(
        matches!(
            error.detail(),
            Detail::Unwritten { kernel: "sum_f32", elements: 8, unwritten: 1, first: 7, .. }
        ),
        "{error}"
    );
    let error = run(9).unwrap_err();
    assert!(error.to_string().contains("index out of bounds: the len is 8 but the index is 8"), "{error}");
}
