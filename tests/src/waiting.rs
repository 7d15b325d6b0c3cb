//! Runs that wait for others, on all kinds of devices, with a time limit.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use thalweg::CpuOptions;
use thalweg::prelude::*;

use crate::{leaves_nothing, small};

/// A time limit that no test reaches, on a busy machine and under a checker too.
const PATIENCE: Duration = Duration::from_secs(120);

/// Orders of the device: the order of time, and others.
const ORDERS: u64 = 4;

/// Ends the process if `work` does not end: a deadlock is a failure.
pub fn in_time<R>(work: impl FnOnce() -> R) -> R {
    let (done, waits) = channel::<()>();
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    std::thread::spawn(move || {
        if waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            eprintln!("deadlock: {name}");
            std::process::abort();
        }
    });
    let result = work();
    drop(done);
    result
}

/// Runs in the order of time and in others, and on the CPU, with streams and in graphs. The device is usable
/// afterwards.
pub fn everywhere(check: impl Fn(&Device, bool)) {
    in_time(|| {
        let cpu = Device::cpu_with(CpuOptions::default().memory(64 << 20)).unwrap();
        for graph in [false, true] {
            leaves_nothing(&cpu, || check(&cpu, graph));
        }
        for (seed, graph) in (0..ORDERS).flat_map(|seed| [(seed, false), (seed, true)]) {
            let spec = Simulation::default();
            let device = small(if seed == 0 { spec } else { spec.adversarial(seed) });
            leaves_nothing(&device, || check(&device, graph));
        }
    });
}

/// A pipeline built with these options, in graph mode or not.
#[macro_export]
macro_rules! built_in_mode {
    ($pipeline:ty, $device:expr, $graph:expr $(, $option:ident($value:expr))*) => {{
        let options = <$pipeline>::options($device)$(.$option($value))*;
        if $graph { options.graph().build() } else { options.build() }.unwrap()
    }};
}
