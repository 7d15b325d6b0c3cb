//! Two kernels that take turns, and how their results and times compare.

use rayon::prelude::*;
use thalweg::prelude::*;
use thalweg::streams::{Event, Stream};

/// What one launch does, to print a rate.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// Bytes that are read or written.
    Bytes(usize),
    /// Operations of floats.
    Operations(usize),
}

/// An element of a result.
pub(crate) trait Element: Pod + Send + Sync {
    /// The difference of two elements, as a share of the larger one or of 1. Two NaNs are the same.
    fn apart(self, other: Self) -> f64;
}

macro_rules! elements {
    ($($type:ty)*) => {$(
        impl Element for $type {
            fn apart(self, other: Self) -> f64 {
                let (x, y) = (self as f64, other as f64);
                if x == y || (x.is_nan() && y.is_nan()) {
                    return 0.0;
                }
                let difference = (x - y).abs() / x.abs().max(y.abs()).max(1.0);
                if difference.is_nan() { f64::INFINITY } else { difference }
            }
        }
    )*};
}
elements!(u8 u32 f32 f64);

/// Which pairs are measured, and how.
pub(crate) struct Bench {
    pub(crate) device: Device,
    pub(crate) stream: Stream,
    names: Vec<String>,
    rounds: usize,
}

/// The least seconds of a sample, which has as many launches as they need.
const SAMPLE: f64 = 4e-3;

impl Bench {
    pub(crate) fn new(names: Vec<String>, rounds: usize) -> thalweg::Result<Self> {
        let device = Device::cuda(0)?;
        println!("{device}; medians of {rounds} alternating samples, from an event to an event\n");
        println!(
            "{:<18} {:>12} {:>12} {:>8} {:>17} {:>14}   difference of the results",
            "kernel", "by hand us", "in Rust us", "ratio", "of one round", "in Rust"
        );
        Ok(Self { stream: Stream::new(&device)?, device, names, rounds })
    }

    /// Whether a pair with this name is asked for.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|part| name.contains(part.as_str()))
    }

    /// Data on the device.
    pub(crate) fn on_device<T: Pod>(&self, data: &[T]) -> thalweg::Result<DeviceBuf<T>> {
        DeviceBuf::from_slice(&self.device, data)
    }

    /// So many random floats from 0 to 1 on the device.
    pub(crate) fn floats(&self, seed: u64, len: usize) -> thalweg::Result<DeviceBuf<f32>> {
        let float = |i| (bits(seed, i) >> 40) as f32 / (1_u64 << 24) as f32;
        self.on_device(&(0..len).into_par_iter().map(float).collect::<Vec<_>>())
    }

    /// So many random bytes on the device.
    pub(crate) fn bytes(&self, seed: u64, len: usize) -> thalweg::Result<DeviceBuf<u8>> {
        self.on_device(&(0..len).into_par_iter().map(|i| bits(seed, i) as u8).collect::<Vec<_>>())
    }

    /// Measures both kernels, each with buffers of its own that begin as `start` makes them, and prints a line.
    /// After one launch of each, no element may be further apart than `tolerance`.
    pub(crate) fn pair<T: Element>(
        &self,
        name: &str,
        work: Work,
        tolerance: f64,
        start: impl Fn() -> thalweg::Result<Vec<DeviceBuf<T>>>,
        by_hand: impl FnMut(&Stream, &mut [DeviceBuf<T>]) -> thalweg::Result<()>,
        in_rust: impl FnMut(&Stream, &mut [DeviceBuf<T>]) -> thalweg::Result<()>,
    ) -> thalweg::Result<()> {
        let furthest =
            |x: &[T], y: &[T]| x.par_iter().zip(y).map(|(x, y)| x.apart(*y)).reduce(|| 0.0, f64::max);
        self.compared(name, work, tolerance, start, furthest, by_hand, in_rust)
    }

    /// The same for kernels whose elements are parts of one result, which is what is compared: they divide it
    /// differently.
    #[allow(clippy::too_many_arguments, reason = "each is another part of the comparison")]
    pub(crate) fn pair_in_parts<T: Element>(
        &self,
        name: &str,
        work: Work,
        tolerance: f64,
        start: impl Fn() -> thalweg::Result<Vec<DeviceBuf<T>>>,
        whole: impl Fn(&[T]) -> T,
        by_hand: impl FnMut(&Stream, &mut [DeviceBuf<T>]) -> thalweg::Result<()>,
        in_rust: impl FnMut(&Stream, &mut [DeviceBuf<T>]) -> thalweg::Result<()>,
    ) -> thalweg::Result<()> {
        let of_wholes = |x: &[T], y: &[T]| whole(x).apart(whole(y));
        self.compared(name, work, tolerance, start, of_wholes, by_hand, in_rust)
    }

    #[allow(clippy::too_many_arguments, reason = "each is another part of the comparison")]
    fn compared<T: Element>(
        &self,
        name: &str,
        work: Work,
        tolerance: f64,
        start: impl Fn() -> thalweg::Result<Vec<DeviceBuf<T>>>,
        distance: impl Fn(&[T], &[T]) -> f64,
        mut by_hand: impl FnMut(&Stream, &mut [DeviceBuf<T>]) -> thalweg::Result<()>,
        mut in_rust: impl FnMut(&Stream, &mut [DeviceBuf<T>]) -> thalweg::Result<()>,
    ) -> thalweg::Result<()> {
        let mut buffers = [start()?, start()?];
        by_hand(&self.stream, &mut buffers[0])?;
        in_rust(&self.stream, &mut buffers[1])?;
        self.stream.synchronize()?;
        let mut apart = 0.0_f64;
        for (x, y) in buffers[0].iter().zip(&buffers[1]) {
            let (x, y) = (x.to_vec()?, y.to_vec()?);
            assert!(x.par_iter().any(|x| x.apart(T::zeroed()) > 0.0), "{name}: nothing was written");
            apart = apart.max(distance(&x, &y));
        }
        assert!(apart <= tolerance, "{name}: the results are {apart:e} apart");

        let [of_hand, of_rust] = &mut buffers;
        let mut hand = |launches| self.sample(launches, || by_hand(&self.stream, of_hand));
        let mut rust = |launches| self.sample(launches, || in_rust(&self.stream, of_rust));
        // The clock of an idle GPU is low: it rises meanwhile.
        let slower = hand(20)?.max(rust(20)?).max(1e-7);
        let launches = ((SAMPLE / slower).ceil() as usize).clamp(1, 1000);
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..self.rounds + 2 {
            // Each begins every other round.
            let (x, y);
            if round % 2 == 0 {
                x = hand(launches)?;
                y = rust(launches)?;
            } else {
                y = rust(launches)?;
                x = hand(launches)?;
            }
            if round >= 2 {
                times[0].push(x);
                times[1].push(y);
            }
        }
        let mut ratios: Vec<f64> = times[0].iter().zip(&times[1]).map(|(hand, rust)| rust / hand).collect();
        ratios.sort_by(f64::total_cmp);
        let [hand, rust] = times.map(median);
        let rate = match work {
            Work::Bytes(bytes) => format!("{:.0} GB/s", bytes as f64 / rust / 1e9),
            Work::Operations(operations) => format!("{:.1} TFLOP/s", operations as f64 / rust / 1e12),
        };
        let spread = format!("{:.3} to {:.3}", ratios[0], ratios[ratios.len() - 1]);
        let result = if apart == 0.0 { "none".to_owned() } else { format!("{apart:.1e}") };
        println!(
            "{name:<18} {:>12.2} {:>12.2} {:>8.3} {spread:>17} {rate:>14}   {result}",
            hand * 1e6,
            rust * 1e6,
            rust / hand
        );
        Ok(())
    }

    /// The seconds of a launch on the device, of so many one after another.
    fn sample(
        &self,
        launches: usize,
        mut launch: impl FnMut() -> thalweg::Result<()>,
    ) -> thalweg::Result<f64> {
        let (start, stop) = (Event::with_timing(&self.device)?, Event::with_timing(&self.device)?);
        self.stream.record(&start)?;
        for _ in 0..launches {
            launch()?;
        }
        self.stream.record(&stop)?;
        stop.synchronize()?;
        Ok(start.elapsed(&stop)?.as_secs_f64() / launches as f64)
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Pseudo-random bits.
pub(crate) fn bits(seed: u64, i: usize) -> u64 {
    let mut bits = (i as u64).wrapping_add(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
