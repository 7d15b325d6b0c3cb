//! Black-Scholes.

use proptest::prelude::*;
use thalweg::prelude::*;
use thalweg_kernels::black_scholes;
use thalweg_tests::compare::{Tolerance, assert_close, on_gpu_and_simulated};
use thalweg_tests::random::Random;

use super::{LENGTHS, config, simulated};

stream_pipeline! {
    pipeline Prices {
        param rate: f32;
        input spot: [f32];
        input strike: [f32];
        input years: [f32];
        input volatility: [f32];
        output call: [f32];
        output put: [f32];
        device d_call: [f32];
        device d_put: [f32];
        chunk c = auto;
        stage load {
            copy spot -> d_spot;
            copy strike -> d_strike;
            copy years -> d_years;
            copy volatility -> d_volatility;
        }
        stage price {
            black_scholes<<<blocks(c.len, 256), 256>>>(
                rate, &d_spot, &d_strike, &d_years, &d_volatility, out d_call, out d_put
            );
        }
        stage store { copy d_call -> call; copy d_put -> put; }
    }
}

/// Spot, strike, years, volatility.
type Book = [Vec<f32>; 4];

fn prices(
    device: &Device,
    chunk: usize,
    rate: f32,
    [spot, strike, years, volatility]: &Book,
) -> thalweg::Result<[Vec<f32>; 2]> {
    let (mut call, mut put) = (vec![7.0; spot.len()], vec![7.0; spot.len()]);
    let mut pipeline = Prices::options(device).chunk(chunk).build()?;
    pipeline.run(rate, spot, strike, years, volatility, &mut call, &mut put)?;
    Ok([call, put])
}

/// Options of all kinds: in one of eight the time or the volatility is 0.
fn book(random: &mut Random, len: usize) -> Book {
    let zeros = |random: &mut Random, mut values: Vec<f32>| {
        values.iter_mut().filter(|_| random.below(16) == 0).for_each(|value| *value = 0.0);
        values
    };
    let spot = random.floats(len, 1.0, 200.0);
    let strike = random.floats(len, 1.0, 200.0);
    let years = random.floats(len, 0.01, 10.0);
    let volatility = random.floats(len, 0.01, 1.0);
    [spot, strike, zeros(random, years), zeros(random, volatility)]
}

/// The standard normal distribution by Simpson's rule on its density.
fn normal(d: f64) -> f64 {
    let end = d.clamp(-12.0, 12.0);
    let steps = 600;
    let step = end / f64::from(steps);
    let density = |x: f64| (-0.5 * x * x).exp();
    let sum: f64 = (0..=steps)
        .map(|i| {
            let weight = if i == 0 || i == steps {
                1.0
            } else if i % 2 == 1 {
                4.0
            } else {
                2.0
            };
            weight * density(f64::from(i) * step)
        })
        .sum();
    0.5 + sum * step / 3.0 / (2.0 * std::f64::consts::PI).sqrt()
}

/// A call and a put, in doubles.
fn expected(rate: f64, [spot, strike, years, volatility]: [f64; 4]) -> [f64; 2] {
    let discounted = strike * (-rate * years).exp();
    let spread = volatility * years.sqrt();
    let call = if spread == 0.0 {
        (spot - discounted).max(0.0)
    } else {
        let d1 = ((spot / strike).ln() + (rate + volatility * volatility / 2.0) * years) / spread;
        spot * normal(d1) - discounted * normal(d1 - spread)
    };
    // The parity of calls and puts holds.
    [call, call - spot + discounted]
}

/// The largest error of a price, for an option of this size.
fn tolerance(spot: f32, strike: f32) -> Tolerance {
    Tolerance::Within { absolute: 1e-6 * f64::from(spot + strike), relative: 0.0 }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn prices_are_those_of_the_formula(
        len in 0..300_usize,
        chunk in 1..300_usize,
        rate in -0.05..0.15_f32,
        seed in any::<u64>(),
    ) {
        let book = book(&mut Random::new(seed), len);
        let [call, put] = prices(&simulated(), chunk, rate, &book).unwrap();
        for i in 0..len {
            let option = book.each_ref().map(|values| values[i]);
            let [c, p] = expected(rate.into(), option.map(f64::from)).map(|price| price as f32);
            let what = format!("{option:?} at {rate}");
            assert_close(&[call[i], put[i]], &[c, p], tolerance(option[0], option[1]), what);
            prop_assert!(call[i] >= 0.0 && put[i] >= 0.0);
        }
    }
}

/// Options that have no price, or a certain one.
const CORNERS: [([f32; 4], [f32; 2]); 14] = [
    ([100.0, 90.0, 0.0, 0.2], [10.0, 0.0]),
    ([90.0, 100.0, 0.0, 0.2], [0.0, 10.0]),
    ([100.0, 100.0, 0.0, 0.0], [0.0, 0.0]),
    ([100.0, 50.0, 0.0, f32::MAX], [50.0, 0.0]),
    ([0.0, 100.0, 1.0, 0.2], [f32::NAN; 2]),
    ([-1.0, 100.0, 1.0, 0.2], [f32::NAN; 2]),
    ([100.0, 0.0, 1.0, 0.2], [f32::NAN; 2]),
    ([100.0, -0.0, 1.0, 0.2], [f32::NAN; 2]),
    ([100.0, 100.0, -1.0, 0.2], [f32::NAN; 2]),
    ([100.0, 100.0, 1.0, -0.2], [f32::NAN; 2]),
    ([f32::NAN, 100.0, 1.0, 0.2], [f32::NAN; 2]),
    ([100.0, f32::NAN, 1.0, 0.2], [f32::NAN; 2]),
    ([100.0, 100.0, f32::NAN, 0.2], [f32::NAN; 2]),
    ([100.0, 100.0, 1.0, f32::NAN], [f32::NAN; 2]),
];

fn corners(device: &Device) {
    let book: Book = std::array::from_fn(|which| CORNERS.iter().map(|(option, _)| option[which]).collect());
    let [call, put] = prices(device, 100, 0.05, &book).unwrap();
    for (i, (option, expected)) in CORNERS.into_iter().enumerate() {
        assert_close(&[call[i], put[i]], &expected, Tolerance::Exact, format_args!("{option:?}"));
    }
    // This is a textbook example: J. Hull, "Options, Futures, and Other Derivatives", gives 4.76 and 0.81.
    let [call, put] = prices(device, 1, 0.1, &[42.0, 40.0, 0.5, 0.2].map(|value| vec![value])).unwrap();
    assert!((call[0] - 4.76).abs() < 0.005 && (put[0] - 0.81).abs() < 0.005, "{call:?} {put:?}");
}

#[test]
fn options_without_a_price() {
    corners(&simulated());
}

#[test]
#[ignore = "needs a CUDA device"]
fn options_without_a_price_on_a_gpu() {
    corners(&Device::cuda(0).expect("a GPU"));
}

#[test]
#[ignore = "needs a CUDA device"]
fn prices_are_the_same_on_a_gpu() {
    let mut random = Random::new(8);
    for len in LENGTHS {
        for rate in [0.03, 0.0, -0.01] {
            let book = book(&mut random, len);
            let (gpu, simulated) =
                on_gpu_and_simulated(|device| prices(device, len.div_ceil(2).max(1), rate, &book));
            // Each option is compared as a result of its own, by its size.
            for (gpu, simulated) in gpu.iter().zip(&simulated) {
                assert_eq!(gpu.len(), len);
                for (i, (gpu, simulated)) in gpu.iter().zip(simulated).enumerate() {
                    let tolerance = tolerance(book[0][i], book[1][i]);
                    assert_close(
                        &[*gpu],
                        &[*simulated],
                        tolerance,
                        format_args!("option {i} of {len} at {rate}"),
                    );
                }
            }
        }
    }
}
