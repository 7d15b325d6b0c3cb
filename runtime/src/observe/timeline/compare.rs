//! [`Comparison`]: one timeline against another, usually a prediction against a measurement.

use std::fmt;
use std::time::Duration;

use super::{Cause, Engine, Finding, Timeline};

/// The smallest share of a difference for which a cause is named.
const WORTH_A_WORD: f64 = 0.03;

/// The share by which an engine's rate must differ to count as changed.
const CHANGED: f64 = 0.1;

/// Two timelines of one pipeline: how they differ, and why. `Display` prints it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// The pipeline's name.
    pub pipeline: &'static str,
    /// Whether each of the two was predicted.
    pub predicted: [bool; 2],
    /// The duration of each.
    pub time: [Duration; 2],
    /// The time for which each engine was busy in each. Engines that neither used are left out.
    pub engines: Vec<(Engine, [Duration; 2])>,
    /// The causes of the gap: the time that the slower one has lost beyond the other, largest first.
    pub causes: Vec<(Cause, Duration)>,
    /// The findings of the slower one.
    pub findings: Vec<Finding>,
    /// Whether one of them is a prediction from the bytes of kernels, and the other one is measured.
    by_bytes: bool,
}

impl Timeline {
    /// Compares this timeline, usually a prediction, with another one of the same pipeline, usually measured.
    ///
    /// ```
    /// # use thalweg::prelude::*;
    /// # use thalweg_kernels::saxpy;
    /// # stream_pipeline! {
    /// #     pipeline Saxpy {
    /// #         param a: f32;
    /// #         input x: [f32];
    /// #         inout y: [f32];
    /// #         stage load { copy x -> dx; copy y -> dy; }
    /// #         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
    /// #         stage store { copy dy -> y; }
    /// #         chunk c = auto;
    /// #     }
    /// # }
    /// let device = Device::simulated(Simulation::default());
    /// let (x, mut y) = (vec![1.0; 1 << 20], vec![2.0; 1 << 20]);
    /// let mut saxpy = Saxpy::new(&device)?;
    /// let predicted = saxpy.predict(3.0, &x, &mut y)?;
    /// let measured = saxpy.profile(3.0, &x, &mut y)?;
    /// println!("{}", predicted.compare(&measured));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn compare(&self, other: &Self) -> Comparison {
        let busy = Engine::ALL.map(|engine| (engine, [self.busy(engine), other.busy(engine)]));
        let used = busy.into_iter().filter(|(_, busy)| busy.iter().any(|busy| !busy.is_zero()));
        let slower = if other.time() >= self.time() { other } else { self };
        Comparison {
            pipeline: self.plan.pipeline,
            predicted: [self.predicted, other.predicted],
            time: [self.time(), other.time()],
            engines: used.collect(),
            causes: causes(self, other),
            findings: slower.findings(),
            by_bytes: self.predicted != other.predicted && (self.basis.by_bytes || other.basis.by_bytes),
        }
    }
}

/// The time that the slower one has lost beyond the other, by cause.
fn causes(one: &Timeline, other: &Timeline) -> Vec<(Cause, Duration)> {
    let (quick, slow) = if other.time() >= one.time() { (one, other) } else { (other, one) };
    let before = quick.losses();
    let more = |(cause, lost): (Cause, Duration)| {
        (cause, lost.saturating_sub(before.get(&cause).copied().unwrap_or_default()))
    };
    let mut causes: Vec<_> = slow.losses().into_iter().map(more).collect();
    causes.retain(|(_, lost)| *lost > slow.time().mul_f64(WORTH_A_WORD));
    causes.sort_by_key(|(_, lost)| std::cmp::Reverse(*lost));
    causes
}

impl Comparison {
    /// The second one's duration divided by the first one's.
    pub fn ratio(&self) -> f64 {
        self.time[1].as_secs_f64() / self.time[0].as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = match self.predicted {
            [true, false] => ["predicted", "measured"],
            [false, true] => ["measured", "predicted"],
            _ => ["the first", "the second"],
        };
        let ms = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
        let ratio = |[a, b]: [Duration; 2]| match a.is_zero() {
            true => "-".to_owned(),
            false => format!("{:.3}", b.as_secs_f64() / a.as_secs_f64()),
        };
        writeln!(f, "{:<24}{:>14}{:>14}{:>9}", self.pipeline, named[0], named[1], "ratio")?;
        writeln!(
            f,
            "{:<24}{:>14}{:>14}{:>9}",
            "run, ms",
            ms(self.time[0]),
            ms(self.time[1]),
            ratio(self.time)
        )?;
        for (engine, busy) in &self.engines {
            let name = format!("{engine} busy, ms");
            write!(f, "{name:<24}{:>14}{:>14}{:>9}", ms(busy[0]), ms(busy[1]), ratio(*busy))?;
            let slower = busy[1].as_secs_f64() / busy[0].as_secs_f64().max(f64::MIN_POSITIVE);
            let changed = (slower - 1.0).abs() >= CHANGED && !busy[0].is_zero();
            let by_bytes = changed && *engine == Engine::Compute && self.by_bytes;
            writeln!(f, "{}", if by_bytes { "  by its bytes" } else { "" })?;
        }
        if !self.causes.is_empty() {
            let slower = usize::from(self.time[1] >= self.time[0]);
            writeln!(f, "{} is slower by", named[slower])?;
        }
        for (cause, lost) in &self.causes {
            writeln!(f, "  {:>10} ms  {}", ms(*lost), cause.name())?;
        }
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        Ok(())
    }
}
