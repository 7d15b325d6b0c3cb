//! Endless runs that their caller feeds and drains: results, chunks, back-pressure, errors, ends that go away.

mod chunks;
mod ends;
mod failures;
mod gpu;
mod pressure;
mod results;

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use thalweg::prelude::*;
use thalweg_tests::kernels::{add_to, axpy_each, double_all};
use thalweg_tests::{leaves_nothing, small};

/// Longer than any of the tests takes, on a busy machine and under a checker too.
const PATIENCE: Duration = Duration::from_secs(120);

/// Ends the process if `work` does not end: a deadlock is a failure.
fn in_time<R>(work: impl FnOnce() -> R) -> R {
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

/// In the order of time and in others, with streams and in graphs. The device is usable afterwards.
fn everywhere(check: impl Fn(&Device, bool)) {
    in_time(|| {
        for (seed, graph) in (0..3).flat_map(|seed| [(seed, false), (seed, true)]) {
            let spec = Spec::default();
            let device = small(if seed == 0 { spec } else { spec.adversarial(seed) });
            leaves_nothing(&device, || check(&device, graph));
        }
    });
}

/// A pipeline built with these options, in graph mode or not.
macro_rules! built {
    ($pipeline:ty, $device:expr, $graph:expr $(, $option:ident($value:expr))*) => {{
        let options = <$pipeline>::options($device)$(.$option($value))*;
        if $graph { options.graph().build() } else { options.build() }.unwrap()
    }};
}
pub(crate) use built;

/// What a run said of a chunk.
type Told = (usize, usize, usize);

stream_pipeline! {
    /// `z <- 2 * (y + a*x)`, and says which chunks there were.
    pub pipeline Axpy {
        param a: f32;
        param told: Sender<Told>;
        input x: [f32];
        input y: [f32];
        output z: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { axpy_each<<<1, 32>>>(c.len as u32, a, &dx, &mut dy); }
        stage twice { double_all<<<1, 32>>>(c.len as u32, &mut dy); }
        stage store { copy dy -> z; then |c| told.send((c.index, c.start, c.len)); }
    }
}

stream_pipeline! {
    /// `z <- x + 1`.
    pub pipeline Next {
        input x: [f32];
        output z: [f32];
        chunk c = 5;
        depth = 3;
        stage load { copy x -> dx; }
        stage math { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dx); }
        stage store { copy dx -> z; }
    }
}

stream_pipeline! {
    /// Items of `k` elements, of any type, through the device.
    pub pipeline Through<T: Pod> {
        param k: usize;
        input x: [T; k];
        output z: [T; k];
        chunk c = 5;
        depth = 2;
        stage there { copy x -> dx; }
        stage back { copy dx -> z; }
    }
}

/// What [`Next`] gives.
fn next(x: &[f32]) -> Vec<f32> {
    x.iter().map(|x| x + 1.0).collect()
}

/// Everything that is left to pull, in pieces of that size.
fn rest<T: Pod>(puller: &mut thalweg::session::Puller<T>, piece: usize) -> Result<Vec<T>> {
    let (mut all, mut some) = (Vec::new(), vec![T::zeroed(); piece]);
    loop {
        let pulled = puller.pull(&mut some)?;
        all.extend_from_slice(&some[..pulled]);
        if pulled < piece {
            return Ok(all);
        }
    }
}
