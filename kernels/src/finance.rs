//! Finance: prices of options.

use thalweg::prelude::*;

/// Prices of European options, a call and a put for each, on something that pays no dividends.
///
/// `rate` is the yearly riskless interest rate, compounded continuously (0.05 is 5 %); `spot` today's
/// price and `strike` the agreed one, in one currency, in which `call` and `put` come too; `years` the
/// time until expiry; `volatility` the yearly standard deviation of the logarithm of the price (0.2 is
/// 20 %). With no time or no volatility left, prices are certain: `spot - strike * exp(-rate * years)`
/// and its opposite, where positive. If a spot or a strike is not positive, a time or a volatility
/// negative, or any of them NaN, so are both prices.
///
/// ```
/// use thalweg::sim::Simulation;
/// use thalweg::streams::Stream;
/// use thalweg::{Device, DeviceBuf};
/// use thalweg_kernels::black_scholes;
///
/// let device = Device::simulated(Simulation::h200());
/// let (stream, black_scholes) = (Stream::new(&device)?, black_scholes::load(&device)?);
/// let one = |value: f32| DeviceBuf::from_slice(&device, &[value]);
/// let (spot, strike, years, volatility) = (one(42.0)?, one(40.0)?, one(0.5)?, one(0.2)?);
/// let (mut call, mut put) = (one(0.0)?, one(0.0)?);
/// let config = stream.config(1, 256, 0);
/// black_scholes.launch(config, 0.1, &spot, &strike, &years, &volatility, &mut call, &mut put)?;
///
/// let (call, put) = (call.to_vec()?[0], put.to_vec()?[0]);
/// // A call and a put, less each other, are the share and the debt: put-call parity.
/// let parity = 42.0 - 40.0 * (-0.1_f32 * 0.5).exp();
/// assert!(call > 0.0 && put > 0.0 && (call - put - parity).abs() < 1e-4);
/// # Ok::<(), thalweg::Error>(())
/// ```
///
/// Needs one thread an option: `black_scholes<<<blocks(n, 256), 256>>>(rate, &spot, &strike, &years,
/// &volatility, out call, out put)`. With floats and a polynomial for the normal distribution, prices are
/// exact to about `1e-6 * (spot + strike)`, and as close to each other on all devices.
///
/// Source: F. Black and M. Scholes, "The Pricing of Options and Corporate Liabilities", Journal of
/// Political Economy 81 (1973); the distribution by M. Abramowitz and I. Stegun, "Handbook of
/// Mathematical Functions", 26.2.17.
#[kernel]
#[requires(put.len() == call.len())]
#[requires(call.len() <= spot.len())]
#[requires(call.len() <= strike.len())]
#[requires(call.len() <= years.len())]
#[requires(call.len() <= volatility.len())]
pub fn black_scholes(
    i: Index,
    rate: f32,
    spot: &[f32],
    strike: &[f32],
    years: &[f32],
    volatility: &[f32],
    call: &mut Out<[f32]>,
    put: &mut Out<[f32]>,
) {
    let Some(call) = call.get_mut(i) else { return };
    let Some(put) = put.get_mut(i) else { return };
    (*call, *put) = prices(rate, spot[i], strike[i], years[i], volatility[i]);
}

/// A call and a put.
#[device]
fn prices(rate: f32, spot: f32, strike: f32, years: f32, volatility: f32) -> (f32, f32) {
    if !(spot > 0.0 && strike > 0.0 && years >= 0.0 && volatility >= 0.0) {
        return (f32::NAN, f32::NAN);
    }
    let discounted = strike * (-rate * years).exp();
    let deviation = volatility * years.sqrt();
    if deviation == 0.0 {
        return (not_negative(spot - discounted), not_negative(discounted - spot));
    }
    let d1 = ((spot / strike).ln() + (rate + 0.5 * volatility * volatility) * years) / deviation;
    let d2 = d1 - deviation;
    let (above1, below1) = normal(d1);
    let (above2, below2) = normal(d2);
    (not_negative(spot * above1 - discounted * above2), not_negative(discounted * below2 - spot * below1))
}

/// The probabilities that a standard normal variable is less than `d`, and that it is less than `-d`.
#[device]
fn normal(d: f32) -> (f32, f32) {
    let tail = upper_tail(d.abs());
    if d > 0.0 { (1.0 - tail, tail) } else { (tail, 1.0 - tail) }
}

/// The probability that a standard normal variable is more than `d >= 0`: Abramowitz and Stegun 26.2.17.
#[device]
#[allow(clippy::excessive_precision, reason = "the numbers as published")]
fn upper_tail(d: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.231_641_9 * d);
    let last = -1.821_255_978 + t * 1.330_274_429;
    let polynomial = t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * last)));
    0.398_942_280 * (-0.5 * d * d).exp() * polynomial
}

/// Rounding may leave a worthless option a little below zero. NaN stays.
#[device]
fn not_negative(price: f32) -> f32 {
    if price < 0.0 { 0.0 } else { price }
}
