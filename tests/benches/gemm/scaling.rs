//! The same on one device, on two, and so on to all of them.

use serde_json::{Value, json};
use thalweg::prelude::*;

use crate::bare::Bare;
use crate::measure::{Matrices, RUNS, WARM_UP, median, row};
use crate::product::OutOfCore;
use crate::several::OnSeveral;
use crate::xt::{BLOCKS, Xt};

/// Who takes turns: what the limits are measured with, the example in its way for one device and in that for
/// several, and cuBLAS-Xt with blocks of three sizes.
const NAMES: [&str; 7] = [
    "the product alone",
    "the copies alone",
    "OutOfCore, one device",
    "OnSeveral",
    "cuBLAS-Xt, 2048",
    "cuBLAS-Xt, 4096",
    "cuBLAS-Xt, 8192",
];

/// Characters of a name in a table, and of a line.
const NAME: usize = 22;
const TABLE: usize = 80;

/// All who multiply on the same devices.
struct Contenders<'d> {
    devices: &'d [Bare],
    /// Takes part where there is one device.
    one: Option<OutOfCore>,
    several: OnSeveral,
    xt: Xt<'d>,
    /// Of each of [`NAMES`].
    seconds: [Vec<f64>; NAMES.len()],
}

impl<'d> Contenders<'d> {
    fn new(devices: &[Device], bare: &'d [Bare]) -> thalweg::Result<Self> {
        let one = match devices {
            [device] => Some(OutOfCore::new(device, usize::MAX)?),
            _ => None,
        };
        let several = OnSeveral::new(devices, usize::MAX)?;
        Ok(Self { devices: bare, one, several, xt: Xt::new(bare), seconds: Default::default() })
    }

    /// The seconds of a turn of each, in the order of [`NAMES`].
    fn turn(&mut self, matrices: &mut Matrices) -> thalweg::Result<[Option<f64>; NAMES.len()]> {
        let [product, copies] = matrices.limits(self.devices)?;
        let one = match &mut self.one {
            Some(one) => Some(matrices.timed(NAMES[2], |shape, a, b, c| one.multiply(shape, a, b, c))?),
            None => None,
        };
        let several = matrices.timed(NAMES[3], |shape, a, b, c| self.several.multiply(shape, a, b, c))?;
        let [first, second, third] = BLOCKS.map(|block| matrices.xt(&self.xt, block));
        Ok([Some(product), Some(copies), one, Some(several), Some(first?), Some(second?), Some(third?)])
    }

    /// What no way to multiply can be faster than.
    fn limit(&self) -> f64 {
        median(&self.seconds[0]).max(median(&self.seconds[1]))
    }

    fn json(&self) -> Value {
        let measured = NAMES.iter().zip(&self.seconds).filter(|(_, seconds)| !seconds.is_empty());
        let rows: Vec<_> = measured.map(|(name, seconds)| row(name, seconds, self.limit())).collect();
        json!({ "devices": self.devices.len(), "limit_seconds": self.limit(), "rows": rows })
    }
}

/// Measures on the first device, on the first two, and so on; also the limits of each device alone.
pub fn on_several(devices: &[Device], size: usize) -> thalweg::Result<Value> {
    let mut matrices = Matrices::new(&devices[0], size)?;
    let bare: Vec<Bare> = (0..devices.len()).map(|number| Bare::new(number, &matrices)).collect();
    let by_count = (1..=devices.len()).map(|count| Contenders::new(&devices[..count], &bare[..count]));
    let mut by_count = by_count.collect::<thalweg::Result<Vec<_>>>()?;
    let mut alone = vec![[Vec::new(), Vec::new()]; devices.len()];
    for round in 0..WARM_UP + RUNS {
        let is_counted = round >= WARM_UP;
        for (device, seconds) in bare.iter().zip(&mut alone) {
            let times = matrices.limits(std::slice::from_ref(device))?;
            seconds.iter_mut().zip(times).for_each(|(all, time)| all.extend(is_counted.then_some(time)));
        }
        for contenders in &mut by_count {
            let times = contenders.turn(&mut matrices)?;
            let kept = times.into_iter().map(|time| time.filter(|_| is_counted));
            contenders.seconds.iter_mut().zip(kept).for_each(|(all, time)| all.extend(time));
        }
    }

    for (limit, name) in NAMES.iter().take(2).enumerate() {
        let medians = alone.iter().map(|seconds| format!("{:.2}", median(&seconds[limit]) * 1e3));
        println!("{name} on each, ms: {}", medians.collect::<Vec<_>>().join(" "));
    }
    print("median ms", &by_count, |median, _| format!("{:.2}", median * 1e3));
    print("times the limit", &by_count, |median, limit| format!("{:.3}", median / limit));
    let alone = devices.iter().zip(&alone).map(|(device, [product, copies])| {
        json!({ "device": device.to_string(), "product_seconds": product, "copies_seconds": copies })
    });
    let by_count: Vec<_> = by_count.iter().map(Contenders::json).collect();
    Ok(json!({ "size": size, "alone": alone.collect::<Vec<_>>(), "by_count": by_count }))
}

/// Prints a table with a column for each number of devices, whose cells follow from a median and the limit.
fn print(title: &str, by_count: &[Contenders<'_>], cell: impl Fn(f64, f64) -> String) {
    let width = ((TABLE - NAME) / by_count.len()).clamp(7, 10);
    let line = |name: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!("{cell:>width$}")).collect();
        println!("{name:<NAME$}{cells}");
    };
    println!();
    let counts = by_count.iter().map(|contenders| match contenders.devices.len() {
        1 => "1 GPU".to_owned(),
        count => format!("{count} GPUs"),
    });
    line(title, &counts.collect::<Vec<_>>());
    for (i, name) in NAMES.iter().enumerate() {
        let cells = by_count.iter().map(|contenders| match &contenders.seconds[i][..] {
            [] => "-".to_owned(),
            seconds => cell(median(seconds), contenders.limit()),
        });
        line(name, &cells.collect::<Vec<_>>());
    }
}
