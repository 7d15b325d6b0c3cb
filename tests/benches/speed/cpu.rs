//! The CPU as a device, against the plain loop for the same, on all cores. Needs no GPU.

mod ours;
mod plain;

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Value, json};
use thalweg::prelude::*;

use crate::measure::{quantile, random};

const ELEMENTS: usize = 1 << 26;
const PIXELS: usize = ELEMENTS / 3;
const BINS: usize = 256;
const SIDE: usize = 2048;

/// One comparison: seconds of each turn.
struct Row {
    name: &'static str,
    plain: Vec<f64>,
    ours: Vec<f64>,
}

impl Row {
    fn median(of: &[f64]) -> f64 {
        quantile(of.iter().copied(), 0.5)
    }

    fn print(&self) {
        let (plain, ours) = (Self::median(&self.plain), Self::median(&self.ours));
        // The ratio of each turn to the loop just before it: the machine's speed changes in between.
        let ratios = self.ours.iter().zip(&self.plain).map(|(ours, plain)| ours / plain);
        let name = self.name;
        println!("{name:<34} {:>11.1} {:>11.1} {:>7.3}", plain * 1e6, ours * 1e6, quantile(ratios, 0.5));
    }

    fn to_json(&self) -> Value {
        json!({ "name": self.name, "plain_seconds": self.plain, "seconds": self.ours })
    }
}

/// What takes turns.
struct Turns {
    runs: usize,
    rows: Vec<Row>,
}

impl Turns {
    /// Lets a loop and a pipeline take turns on data of their own, and compares what they made each time.
    fn take<S>(
        &mut self,
        name: &'static str,
        mut state: S,
        plain: impl Fn(&mut S),
        ours: impl Fn(&mut S) -> thalweg::Result<()>,
        compare: impl Fn(&S),
    ) -> thalweg::Result<()> {
        let mut row = Row { name, plain: Vec::new(), ours: Vec::new() };
        for round in 0..self.runs + 2 {
            let since = Instant::now();
            plain(black_box(&mut state));
            let of_plain = since.elapsed().as_secs_f64();
            let since = Instant::now();
            ours(black_box(&mut state))?;
            let of_ours = since.elapsed().as_secs_f64();
            compare(&state);
            if round >= 2 {
                row.plain.push(of_plain);
                row.ours.push(of_ours);
            }
        }
        row.print();
        self.rows.push(row);
        Ok(())
    }
}

pub fn cpu(runs: usize) -> thalweg::Result<Value> {
    let device = Device::cpu()?;
    println!("\n{device}, beside the plain loop");
    println!("{:<34} {:>11} {:>11} {:>7}", "", "plain, us", "Thalweg, us", "ratio");
    let mut turns = Turns { runs, rows: Vec::new() };
    elementwise(&device, &mut turns)?;
    with_neighbours(&device, &mut turns)?;
    reductions(&device, &mut turns)?;
    product(&device, &mut turns)?;
    small(&device, &mut turns)?;
    Ok(json!({
        "device": device.to_string(),
        "rows": turns.rows.iter().map(Row::to_json).collect::<Vec<_>>(),
    }))
}

fn elementwise(device: &Device, turns: &mut Turns) -> thalweg::Result<()> {
    const A: f32 = 0.5;
    const RATE: f32 = 0.03;
    let (x, y) = (random(1, ELEMENTS), random(2, ELEMENTS));
    turns.take(
        "saxpy",
        (y.clone(), y, ours::Saxpy::new(device)?),
        |(plain, ..)| plain::saxpy(A, &x, plain),
        |(_, ours, saxpy)| saxpy.run(A, &x, ours).map(drop),
        |(plain, ours, _)| assert!(plain == ours, "another result"),
    )?;
    drop(x);

    let options = [3, 4, 5, 6].map(|seed| random(seed, ELEMENTS / 2));
    let [spot, strike, years, volatility] = options.each_ref().map(Vec::as_slice);
    let prices = || [vec![0.0_f32; ELEMENTS / 2], vec![0.0; ELEMENTS / 2]];
    turns.take(
        "Black-Scholes",
        (prices(), prices(), ours::BlackScholes::new(device)?),
        |([call, put], ..)| plain::black_scholes(RATE, [spot, strike, years, volatility], call, put),
        |(_, [call, put], price)| price.run(RATE, spot, strike, years, volatility, call, put).map(drop),
        // By their bits: what has no price is NaN.
        |(plain, ours, _)| {
            let bits = |prices: &Vec<f32>| prices.iter().map(|price| price.to_bits()).collect::<Vec<_>>();
            assert!(plain.each_ref().map(bits) == ours.each_ref().map(bits), "other prices");
        },
    )?;

    let bytes: Vec<u8> = random(7, 3 * PIXELS).iter().map(|value| (value * 256.0) as u8).collect();
    let (mean, deviation) = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);
    turns.take(
        "normalize",
        (vec![0.0; 3 * PIXELS], vec![0.0; 3 * PIXELS], ours::Normalize::new(device)?),
        |(plain, ..)| plain::normalize(mean, deviation, &bytes, plain),
        |(_, ours, normalize)| normalize.run(&bytes, ours, &mean, &deviation).map(drop),
        |(plain, ours, _)| assert!(plain == ours, "another result"),
    )
}

fn with_neighbours(device: &Device, turns: &mut Turns) -> thalweg::Result<()> {
    let (x, w) = (random(8, ELEMENTS), [0.1, 0.2, 0.4, 0.2, 0.1]);
    turns.take(
        "stencil of 5 points",
        (vec![0.0; ELEMENTS], vec![0.0; ELEMENTS], ours::Stencil::new(device)?),
        |(plain, ..)| plain::stencil(w, &x, plain),
        |(_, ours, stencil)| stencil.run(w, &x, ours).map(drop),
        |(plain, ours, _)| assert!(plain == ours, "another result"),
    )
}

fn reductions(device: &Device, turns: &mut Turns) -> thalweg::Result<()> {
    let (x, y) = (random(9, ELEMENTS), random(10, ELEMENTS));
    turns.take(
        "histogram of 256 bins",
        (Vec::new(), Vec::new(), ours::Histogram::new(device)?),
        |(plain, ..)| *plain = plain::histogram(BINS, &x),
        |(_, counts, histogram)| ours::histogram(histogram, device, BINS, &x).map(|found| *counts = found),
        |(plain, ours, _)| assert!(plain == ours, "other counts"),
    )?;
    turns.take(
        "dot product",
        (0.0, 0.0, ours::Dot::new(device)?),
        |(plain, ..)| *plain = plain::dot(&x, &y),
        |(_, sum, dot)| ours::dot(dot, device, &x, &y).map(|found| *sum = found),
        // The sums are in other orders.
        |(plain, ours, _)| assert!((plain - ours).abs() < 1e-9 * plain, "{plain} and {ours}"),
    )
}

/// `call` of cuBLAS's product, which is `matrixmultiply`'s on all cores here, as the plain product is.
fn product(device: &Device, turns: &mut Turns) -> thalweg::Result<()> {
    let (a, b) = (random(11, SIDE * SIDE), random(12, SIDE * SIDE));
    turns.take(
        "matrix product 2048",
        (vec![0.0; SIDE * SIDE], vec![0.0; SIDE * SIDE], ours::Product::new(device)?),
        |(c, ..)| plain::product(SIDE, &a, &b, c),
        |(_, c, product)| product.run(SIDE, &a, &b, c).map(drop),
        |(plain, ours, _)| {
            let close = |(plain, ours): (&f32, &f32)| (plain - ours).abs() <= 1e-3 * plain.abs();
            assert!(plain.iter().zip(ours).all(close), "another product");
        },
    )
}

/// What a run costs, and a chunk.
fn small(device: &Device, turns: &mut Turns) -> thalweg::Result<()> {
    const N: usize = 1000;
    let (x, y) = (random(13, N), random(14, N));
    let plain = |y: &mut Vec<f32>| y.iter_mut().zip(&x).for_each(|(y, x)| *y += 0.5 * x);
    for (name, chunk) in [("saxpy of 1,000 items in a chunk", N), ("saxpy of 1,000 chunks of an item", 1)] {
        turns.take(
            name,
            (y.clone(), y.clone(), ours::Saxpy::options(device).chunk(chunk).build()?),
            |(y, ..)| plain(y),
            |(_, y, saxpy)| saxpy.run(0.5, &x, y).map(drop),
            |(plain, ours, _)| assert!(plain == ours, "another result"),
        )?;
    }
    Ok(())
}
