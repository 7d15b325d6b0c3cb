//! The sources and sinks that keep a run waiting: how long each does, and the message about it while the run
//! waits.
//!
//! A run waits for ever for a source that neither gives its next chunk nor ends, such as a channel whose
//! sender lives. Such a source cannot be told from a slow one, so the run goes on waiting and says for which.
//! Callers of a session are not named, since they know that they have not pushed or pulled.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::plan::Plan;
use crate::base::report::Awaited;
use crate::engine::feeds::exchange::{End, Exchange};
use crate::observe::watch::{self, Late};

// Note 51: nobody can tell a silent source from a slow one.
/// How long a run waits for a source or a sink before it says so, once for each of them.
const PATIENCE: Duration = Duration::from_secs(5);

/// A report names the sources and sinks for which the run waited this long, altogether.
const WORTH_A_WORD: Duration = Duration::from_secs(1);

/// The waits for one source or sink of a run.
#[derive(Debug, Default, Clone)]
pub(crate) struct Waits {
    time: Duration,
    told: bool,
}

/// A wait, until this is dropped. It reads the clock once there is something to wait for.
pub(crate) struct Wait<'e> {
    exchange: &'e Exchange,
    plan: &'static Plan,
    /// Whether the run only waits for their threads to end.
    for_the_end: bool,
    /// The time at which it began, and the time up to which it is counted.
    since: Option<(Instant, Instant)>,
    /// The sources and sinks for which the run waits since then, by number.
    late: Vec<usize>,
}

impl<'e> Wait<'e> {
    pub(crate) fn new(exchange: &'e Exchange, plan: &'static Plan) -> Self {
        Self { exchange, plan, for_the_end: false, since: None, late: Vec::new() }
    }

    /// Goes on waiting, from now on for the ends for which `is_late` holds.
    pub(crate) fn goes_on(&mut self, is_late: impl Fn(usize, &End) -> bool) {
        let now = self.count();
        self.late.clear();
        let ends = self.exchange.ends.iter().enumerate();
        let late = ends.filter(|&(number, end)| !end.is_called() && is_late(number, end));
        self.late.extend(late.map(|(number, _)| number));
        let Some((begun, _)) = self.since.filter(|(begun, _)| now.duration_since(*begun) >= PATIENCE) else {
            return;
        };
        for &number in &self.late {
            let told = std::mem::replace(&mut self.exchange.waits()[number].told, true);
            if !told {
                let end = &self.exchange.ends[number];
                watch::is_late(&Late {
                    pipeline: self.plan.pipeline,
                    host: end.name,
                    is_sink: end.is_sink,
                    chunk: (!self.for_the_end).then(|| end.chunk_at_hand()),
                    waited: now.duration_since(begun),
                });
            }
        }
    }

    /// Adds the time since the last count to the sources and sinks that were late.
    fn count(&mut self) -> Instant {
        let now = Instant::now();
        let (_, counted) = self.since.get_or_insert((now, now));
        let time = now.duration_since(std::mem::replace(counted, now));
        if !self.late.is_empty() {
            let mut waits = self.exchange.waits();
            self.late.iter().for_each(|&number| waits[number].time += time);
        }
        now
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if !self.late.is_empty() {
            self.count();
        }
    }
}

impl Exchange {
    fn waits(&self) -> std::sync::MutexGuard<'_, Vec<Waits>> {
        // Only the thread that runs the pipeline locks it, and runs no other code meanwhile.
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sources and sinks for which the run has waited long enough to be named.
    pub(crate) fn awaited(&self) -> Vec<Awaited> {
        let waits = self.waits();
        let ends = self.ends.iter().zip(waits.iter()).filter(|(_, waits)| waits.time >= WORTH_A_WORD);
        ends.map(|(end, waits)| Awaited { host: end.name, is_sink: end.is_sink, time: waits.time }).collect()
    }

    /// Waits for the threads of sources and sinks, which were told to end, and were all started.
    pub(crate) fn wait_for_threads(&self, plan: &'static Plan) {
        let mut wait = Wait::new(self, plan);
        wait.for_the_end = true;
        loop {
            let version = self.version();
            if self.ends.iter().all(|end| end.is_called() || end.is_over()) {
                return;
            }
            wait.goes_on(|_, end| !end.is_over());
            self.wait(version, PATIENCE);
        }
    }
}

/// No waits yet, for this many sources and sinks.
pub(crate) fn no_waits(ends: usize) -> Mutex<Vec<Waits>> {
    Mutex::new(vec![Waits::default(); ends])
}
