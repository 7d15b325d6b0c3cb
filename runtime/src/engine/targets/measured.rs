//! [`MeasuredCost`]: the time that an operation takes according to a profile.

use std::time::Duration;

use crate::base::plan::Plan;
use crate::driver::Nanos;

use crate::engine::targets::timed::Timed;
use crate::observe::timeline::Engine;

/// A shorter time is mostly the time until a kernel begins and an event is seen, so it shows nothing.
const SHORTEST: Nanos = 20e3;

/// The time that an operation takes for a number of bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MeasuredCost {
    time: Nanos,
    /// 0 if its time does not depend on bytes.
    bytes: f64,
}

impl MeasuredCost {
    /// The time for `bytes` bytes.
    pub(crate) fn time(self, bytes: u64) -> Duration {
        let share = if self.bytes > 0.0 { bytes as f64 / self.bytes } else { 1.0 };
        Duration::try_from_secs_f64(self.time * share / 1e9).unwrap_or_default()
    }
}

/// The cost that a profile has measured for each of the plan's operations, if only a profile can show it.
///
/// Kernels that ran at the same time have shared the device: each is assumed to have had an equal part of it.
pub(crate) fn costs(plan: &Plan, timed: &[Timed]) -> Vec<Option<MeasuredCost>> {
    let alone = alone(timed);
    let mut sums = vec![(0.0, 0.0, 0_usize); plan.operations.len()];
    for (timed, time) in timed.iter().zip(alone).filter(|(timed, _)| !timed.estimated) {
        if let Some((total, bytes, count)) = sums.get_mut(timed.tag.operation as usize) {
            *total += time;
            *bytes += timed.what.bytes as f64;
            *count += 1;
        }
    }
    let cost = |(operation, (time, bytes, count)): (usize, (f64, f64, usize))| {
        let known = count > 0 && plan.operations[operation].kind.is_measured();
        let cost = known.then(|| MeasuredCost { time: time / count as f64, bytes: bytes / count as f64 });
        cost.filter(|cost| cost.time >= SHORTEST)
    };
    sums.into_iter().enumerate().map(cost).collect()
}

/// The time that each would have taken alone.
fn alone(timed: &[Timed]) -> Vec<Nanos> {
    let mut times: Vec<Nanos> = timed.iter().map(|timed| timed.end - timed.start).collect();
    // The beginnings and ends of kernels in order of time; at the same moment, ends come first.
    let is_kernel = |timed: &&Timed| timed.what.engine == Engine::Compute;
    let mut moments: Vec<(Nanos, bool, usize)> = Vec::new();
    for (index, kernel) in timed.iter().enumerate().filter(|(_, timed)| is_kernel(timed)) {
        if kernel.end <= kernel.start {
            continue;
        }
        times[index] = 0.0;
        moments.extend([(kernel.start, true, index), (kernel.end, false, index)]);
    }
    moments.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut running: Vec<usize> = Vec::new();
    let mut last = 0.0;
    for (at, begins, index) in moments {
        for &kernel in &running {
            times[kernel] += (at - last) / running.len() as f64;
        }
        last = at;
        if begins {
            running.push(index);
        } else {
            running.retain(|&kernel| kernel != index);
        }
    }
    times
}
