//! cuRAND from pipelines: reproducible, and the same numbers on both devices.
//!
//! The simulated device's numbers are compared with cuRAND's own where they are made
//! (`runtime/src/libraries/curand/host.rs`).

use thalweg::prelude::*;
use thalweg::sim::Simulation;
use thalweg_libraries::Error as Refused;
use thalweg_libraries::curand::{self, Philox};
use thalweg_tests::{built, on_every_device};

stream_pipeline! {
    /// All kinds of numbers, from the same positions of one sequence.
    pipeline Numbers {
        param seed: u64;
        param from: usize;
        output bits: [u32];
        output uniform: [f32];
        output uniform_64: [f64];
        output normal: [f32];
        output normal_64: [f64];
        device db: [u32];
        device du: [f32];
        device dv: [f64];
        device dn: [f32];
        device dm: [f64];
        chunk c = auto;
        stream one;
        stream two;
        stage even on one {
            call curand::bits(Philox::new(seed).at(from + c.start), out db);
            call curand::uniform(Philox::new(seed).at(from + c.start), out du);
            call curand::uniform(Philox::new(seed).at(from + c.start), out dv);
        }
        stage normal on two {
            call curand::normal(Philox::new(seed).at(from + c.start), 0.0, 1.0, out dn);
            call curand::normal(Philox::new(seed).at(from + c.start), 10.0, 2.0, out dm);
        }
        stage store {
            copy db -> bits; copy du -> uniform; copy dv -> uniform_64; copy dn -> normal; copy dm -> normal_64;
        }
    }
}

// ANCHOR: noise
stream_pipeline! {
    /// Noise for two channels: the same, however it is cut into chunks.
    pub pipeline Noise {
        param seed: u64;
        param deviation: f32;
        output noise: [f32; 2];
        device dn: [f32; 2];
        chunk c = auto;
        stage make { call curand::normal(Philox::new(seed).at(2 * c.start), 0.0, deviation, out dn); }
        stage store { copy dn -> noise; }
    }
}
// ANCHOR_END: noise

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
struct Made {
    bits: Vec<u32>,
    uniform: Vec<f32>,
    uniform_64: Vec<f64>,
    normal: Vec<f32>,
    normal_64: Vec<f64>,
}

fn made(pipeline: &mut Numbers, seed: u64, from: usize, len: usize) -> thalweg::Result<Made> {
    let mut made = Made {
        bits: vec![0; len],
        uniform: vec![0.0; len],
        uniform_64: vec![0.0; len],
        normal: vec![0.0; len],
        normal_64: vec![0.0; len],
    };
    let Made { bits, uniform, uniform_64, normal, normal_64 } = &mut made;
    pipeline.run(seed, from, bits, uniform, uniform_64, normal, normal_64)?;
    Ok(made)
}

/// One chunk, on the simulated device.
fn expected(seed: u64, from: usize, len: usize) -> Made {
    let device = Device::simulated(Simulation::default());
    let mut pipeline = Numbers::options(&device).chunk(len.max(1)).build().expect("a pipeline");
    made(&mut pipeline, seed, from, len).expect("a run")
}

impl Made {
    /// Checks for the same bits; normal numbers may differ in the last digits of sine, cosine and logarithm,
    /// unless `exact`.
    fn check(&self, expected: &Self, exact: bool) {
        assert_eq!(self.bits, expected.bits);
        assert_eq!(self.uniform, expected.uniform);
        assert_eq!(self.uniform_64, expected.uniform_64);
        if exact {
            return assert_eq!(self, expected);
        }
        // A radius is below 6.8 (the square root of 66 ln 2). A GPU's fast sine and cosine of an angle below
        // 2 pi are off by less than 2^-19: CUDA's guide says 2^-21.19 up to pi, and little more beyond.
        for (normal, expected) in self.normal.iter().zip(&expected.normal) {
            assert!((normal - expected).abs() <= 6.8 * 2f32.powi(-19), "{normal} {expected}");
        }
        // This is for a deviation of 2, a radius below 8.7 (the square root of 108 ln 2), and a few roundings
        // of each.
        for (normal, expected) in self.normal_64.iter().zip(&expected.normal_64) {
            assert!((normal - expected).abs() <= 2.0 * 8.7 * 16.0 * f64::EPSILON, "{normal} {expected}");
        }
    }
}

/// The number of positions that all lanes of the generator give in one turn: behind it the code differs.
const TURN: usize = 1 << 18;

on_every_device! {
    fn a_sequence_does_not_depend_on_how_it_is_cut(device, case) {
        let mut pipeline = built!(Numbers, device, case);
        for (seed, from) in [(7, 0), (u64::MAX, 3), (1 << 40, TURN - 20), (5, 3 * TURN - 51)] {
            let made = made(&mut pipeline, seed, from, case.len)?;
            made.check(&expected(seed, from, case.len), device.is_simulated() || device.is_cpu());
        }
    }
}

fn far_and_long(device: &Device) {
    let len = 3 * TURN + 77;
    let expected = expected(3, TURN / 2 + 1, len);
    for (chunk, depth) in [(TURN - 1, 2), (100_001, 3), (len, 1)] {
        let mut pipeline = Numbers::options(device).chunk(chunk).depth(depth).build().expect("a pipeline");
        let made = made(&mut pipeline, 3, TURN / 2 + 1, len).expect("a run");
        made.check(&expected, device.is_simulated() || device.is_cpu());
    }
}

#[test]
fn a_long_sequence() {
    far_and_long(&Device::simulated(Simulation::default()));
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_long_sequence_on_a_gpu() {
    far_and_long(&Device::cuda(0).expect("a GPU"));
}

/// Five times the deviation of the estimate: one in two million is further off, and these numbers are always
/// the same.
#[test]
fn the_distributions_are_what_they_are_called() {
    let len = 200_000;
    let Made { bits, uniform, uniform_64, normal, normal_64 } = expected(12_345, 0, len);
    let n = len as f64;
    for bit in 0..32 {
        let ones = bits.iter().filter(|word| **word >> bit & 1 == 1).count() as f64;
        assert!((ones - n / 2.0).abs() <= 5.0 * (n / 4.0).sqrt(), "bit {bit}: {ones}");
    }
    let moments = |x: &[f64]| {
        let mean = x.iter().sum::<f64>() / n;
        (mean, x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n)
    };
    let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
    for uniform in [wide(&uniform), uniform_64] {
        assert!(uniform.iter().all(|x| *x > 0.0 && *x <= 1.0));
        let (mean, variance) = moments(&uniform);
        assert!((mean - 0.5).abs() <= 5.0 * (1.0 / 12.0 / n).sqrt(), "{mean}");
        // The fourth central moment is 1/80, so that the variance's deviation is the root of 1/80 - 1/144.
        assert!((variance - 1.0 / 12.0).abs() <= 5.0 * ((1.0 / 80.0 - 1.0 / 144.0) / n).sqrt(), "{variance}");
        // Kolmogorov and Smirnov: 2 exp(-2 d^2) is below 10^-6 at d = 2.7.
        let mut sorted = uniform;
        sorted.sort_by(f64::total_cmp);
        let furthest = sorted.iter().enumerate().map(|(i, x)| ((i as f64 + 0.5) / n - x).abs());
        assert!(furthest.fold(0.0, f64::max) <= 2.7 / n.sqrt());
    }
    for (normal, expected, deviation) in [(wide(&normal), 0.0, 1.0), (normal_64, 10.0, 2.0)] {
        let (mean, variance) = moments(&normal);
        assert!((mean - expected).abs() <= 5.0 * deviation / n.sqrt(), "{mean}");
        let variance = variance / (deviation * deviation);
        assert!((variance - 1.0).abs() <= 5.0 * (2.0 / n).sqrt(), "{variance}");
        let within = normal.iter().filter(|x| (**x - expected).abs() <= deviation).count() as f64 / n;
        let share = 0.682_689_5;
        assert!((within - share).abs() <= 5.0 * (share * (1.0 - share) / n).sqrt(), "{within}");
        // Neighbours, which come from one pair of uniform numbers, are independent.
        let products = normal.windows(2).map(|x| (x[0] - expected) * (x[1] - expected)).sum::<f64>();
        assert!((products / n / (deviation * deviation)).abs() <= 5.0 / n.sqrt(), "{products}");
    }
}

#[test]
fn two_elements_an_item_are_two_positions() {
    let device = Device::simulated(Simulation::default());
    let [mut whole, mut cut] = [[0.0; 200]; 2];
    Noise::options(&device).chunk(100).build().expect("a pipeline").run(9, 1.0, &mut whole).expect("a run");
    Noise::options(&device).chunk(7).build().expect("a pipeline").run(9, 1.0, &mut cut).expect("a run");
    assert_eq!(whole, cut);
    assert_eq!(whole, expected(9, 0, 200).normal[..]);
}

#[test]
fn other_seeds_and_positions_give_other_numbers() {
    let [a, b, c] = [(1, 0), (2, 0), (1, 1)].map(|(seed, from)| expected(seed, from, 1000));
    assert!(a.bits.iter().zip(&b.bits).filter(|(a, b)| a == b).count() <= 1);
    assert_eq!((&a.bits[1..], &a.normal[1..]), (&c.bits[..999], &c.normal[..999]));
}

#[test]
fn a_position_beyond_the_end_is_refused() {
    let device = Device::simulated(Simulation::default());
    let mut pipeline = Numbers::new(&device).expect("a pipeline");
    let error = made(&mut pipeline, 1, (1 << 62) - 9, 10).expect_err("one too many");
    assert!(matches!(Refused::of(&error), Some(Refused::Dimension { routine: "bits", .. })), "{error}");
    let place = error.place();
    assert_eq!(
        (place.stage, place.operation, place.chunk),
        (Some("even"), Some("call curand::bits"), Some(0))
    );
    assert!(place.site.is_some_and(|site| site.file.ends_with("curand.rs")));
    made(&mut pipeline, 1, (1 << 62) - 10, 10).expect("the last ten");
}
