//! [`Event`]: a point in a stream.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Result};
use crate::device::Device;
use crate::device::checked::capture::Capturing;
use crate::device::checked::core::{StreamCore, reach};
use crate::device::pending::progress::Clock;
use crate::device::pending::{Caller, Kind, Registry, Stream, caller};
use crate::device::stream as raw;
use crate::driver::Driver;

/// A point in a stream, for other streams and the host to wait for, or to measure time from: a `cudaEvent_t`.
///
/// It stands for everything that was enqueued on the stream when it was last
/// [recorded](super::Stream::record). Waiting for an event that was never recorded returns at once.
///
/// ```
/// use thalweg::sim::Simulation;
/// use thalweg::streams::{Event, Stream};
/// use thalweg::{Device, DeviceBuf};
///
/// let device = Device::simulated(Simulation::h200());
/// let (stream, mut x) = (Stream::new(&device)?, DeviceBuf::<f32>::zeroed(&device, 1 << 20)?);
/// let (start, stop) = (Event::with_timing(&device)?, Event::with_timing(&device)?);
/// stream.record(&start)?;
/// stream.fill(&mut x, 1.0)?;
/// stream.record(&stop)?;
/// stop.synchronize()?;
/// println!("filled in {:?}", start.elapsed(&stop)?);
/// # Ok::<(), thalweg::Error>(())
/// ```
#[derive(Debug)]
pub struct Event {
    device: Device,
    raw: raw::Event,
    timing: bool,
    recorded: Mutex<Recorded>,
    /// Changes whenever it is recorded.
    records: AtomicU64,
}

/// The work for which an event stands.
#[derive(Debug, Default)]
pub(super) enum Recorded {
    #[default]
    Nothing,
    /// The work before the event, on its stream and on those for which it has waited.
    Enqueued(Clock),
    /// A place in a graph that is being captured.
    Captured(Capturing),
}

impl Recorded {
    fn clock(&self, what: &'static str) -> Result<Clock> {
        match self {
            Self::Nothing => Ok(Clock::default()),
            Self::Enqueued(clock) => Ok(clock.clone()),
            Self::Captured(_) => Err(Detail::EventOfAGraph { what }.into()),
        }
    }
}

impl Event {
    /// An event that orders and takes no timestamps, which costs less.
    ///
    /// # Errors
    /// The driver refuses ([`ErrorKind::Driver`]).
    #[track_caller]
    pub fn new(device: &Device) -> Result<Self> {
        let raw = caller("Event::new").located(|| Ok(raw::Event::new(device)?))?;
        Ok(Self::of(device, raw, false))
    }

    /// An event that also takes a timestamp.
    ///
    /// # Errors
    /// The driver refuses ([`ErrorKind::Driver`]).
    #[track_caller]
    pub fn with_timing(device: &Device) -> Result<Self> {
        let raw = caller("Event::with_timing").located(|| Ok(raw::Event::with_timing(device)?))?;
        Ok(Self::of(device, raw, true))
    }

    fn of(device: &Device, raw: raw::Event, timing: bool) -> Self {
        let records = AtomicU64::new(0);
        Self { device: device.clone(), raw, timing, recorded: Mutex::default(), records }
    }

    /// The device whose streams record it. Streams of its peers may wait for it.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits on the host until the stream has reached the last record of this event.
    ///
    /// # Errors
    /// An operation before the event has failed, the calling thread runs a function of a stream and may not
    /// wait for a device, or the event was recorded while a graph was captured.
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        caller("Event::synchronize").located(|| {
            self.device.may_wait()?;
            loop {
                let (clock, records) = {
                    let recorded = self.recorded();
                    (recorded.clock("waited for")?, self.records.load(Ordering::Acquire))
                };
                self.raw
                    .synchronize()
                    .map_err(|error| self.device.registry().callers().explain(error, None))?;
                // Otherwise it is not known which record was waited for.
                if self.records.load(Ordering::Acquire) == records {
                    return reach(&self.device, &clock);
                }
            }
        })
    }

    /// Whether the stream has reached the last record of this event.
    ///
    /// # Errors
    /// Those of [`synchronize`](Self::synchronize).
    #[track_caller]
    pub fn query(&self) -> Result<bool> {
        caller("Event::query").located(|| {
            let driver = self.device.driver();
            self.device.may_wait()?;
            driver.poll();
            // The lock keeps others from recording it meanwhile.
            let recorded = self.recorded();
            let clock = recorded.clock("asked")?;
            let done = self
                .raw
                .is_complete()
                .map_err(|error| self.device.registry().callers().explain(error, None))?;
            if done {
                reach(&self.device, &clock)?;
            }
            Ok(done)
        })
    }

    /// The time from the completion of this event to that of `later`, or zero if `later` was complete first.
    /// On a GPU it is accurate to half a microsecond.
    ///
    /// # Errors
    /// One of them was made without timing, was never recorded, is not complete yet, was recorded while a graph
    /// was captured, or belongs to another device than the other ([`ErrorKind::Misuse`]); the calling thread
    /// runs a function of a stream, or the driver refuses ([`ErrorKind::Driver`]).
    #[track_caller]
    pub fn elapsed(&self, later: &Self) -> Result<Duration> {
        caller("elapsed").located(|| {
            if !(self.timing && later.timing) {
                return Err(Detail::NoTiming.into());
            }
            if !self.device.same(&later.device) {
                let (one, other) = later.device.both_labels(&self.device);
                return Err(Detail::EventsOfTwoDevices { one, other }.into());
            }
            self.device.may_wait()?;
            for event in [self, later] {
                let recorded = event.recorded();
                recorded.clock("asked")?;
                if let Recorded::Nothing = &*recorded {
                    return Err(Detail::NeverRecorded.into());
                }
            }
            let nanos = match self.raw.elapsed(&later.raw) {
                Ok(nanos) => nanos,
                Err(_) if !(self.raw.is_complete()? && later.raw.is_complete()?) => {
                    return Err(Detail::NotComplete.into());
                }
                // They may have become complete meanwhile.
                Err(_) => self.raw.elapsed(&later.raw)?,
            };
            Ok(Duration::from_nanos(nanos.max(0.0).round() as u64))
        })
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        // No user code runs under the lock.
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the event stand for everything on the stream so far.
    pub(super) fn record(&self, stream: &StreamCore, at: Caller) -> Result<()> {
        stream.device.check_stream("Event", &self.device)?;
        let parts = stream.enter(at)?;
        if stream.kind.is_legacy() {
            self.record_beside(parts, stream, at)
        } else {
            self.record_after(parts, self.recorded(), (stream, None), at)
        }
    }

    /// The same on a stream that waits for others implicitly.
    #[cold]
    #[inline(never)]
    fn record_beside(&self, parts: (&dyn Driver, &Registry), stream: &StreamCore, at: Caller) -> Result<()> {
        // Each blocking stream was made to wait when something was enqueued on the null stream. CUDA's manual
        // does not say whether the null stream waits before it records.
        // Dropped last: the last handle of a stream waits for it.
        let others = if stream.kind == Kind::Null { None } else { stream.legacy_others() };
        let recorded = self.recorded();
        let _legacy = stream.legacy();
        self.record_after(parts, recorded, (stream, others.as_deref()), at)
    }

    /// Makes the event stand for everything on the stream so far, and on these. The event is locked, which keeps others
    /// from recording or waiting meanwhile: what is known of it agrees with the driver.
    // What few streams need is not part of the code of the others.
    #[inline(always)]
    fn record_after(
        &self,
        (driver, registry): (&dyn Driver, &Registry),
        mut recorded: MutexGuard<'_, Recorded>,
        (stream, others): (&StreamCore, Option<&[Arc<dyn Stream>]>),
        at: Caller,
    ) -> Result<()> {
        let mut state = stream.state();
        // It changes under the lock only.
        self.records.store(self.records.load(Ordering::Relaxed) + 1, Ordering::Release);
        if let Some(capturing) = state.capturing() {
            *recorded = Recorded::Captured(capturing.clone());
            return Ok(());
        }
        let joined = others.map(|others| stream.with_legacy(&state, others));
        state.enqueued += 1;
        let tag = stream.tag(at, state.enqueued);
        // SAFETY: both are live, and of one device.
        let outcome = unsafe { driver.record(self.raw.raw, stream.raw, tag) };
        outcome.map_err(|error| registry.callers().explain(error, Some(at)))?;
        if let Some(joined) = joined {
            state.clock = joined;
        }
        match &mut *recorded {
            Recorded::Enqueued(clock) => stream.set_to_now(clock, &mut state),
            other => *other = Recorded::Enqueued(stream.now(&state)),
        }
        Ok(())
    }

    /// Everything enqueued on the stream from now on comes after the event.
    pub(super) fn wait(&self, stream: &StreamCore, at: Caller) -> Result<()> {
        stream.device.check_peer("Event", &self.device)?;
        let (driver, registry) = stream.enter(at)?;
        let recorded = self.recorded();
        let mut state = stream.state();
        match (&*recorded, state.capturing().is_some()) {
            (Recorded::Nothing, _) => Ok(()),
            (Recorded::Enqueued(clock), false) => {
                state.enqueued += 1;
                let tag = stream.tag(at, state.enqueued);
                // SAFETY: both are live, and of one device or of peers.
                let outcome = unsafe { driver.wait(self.raw.raw, stream.raw, tag) };
                outcome.map_err(|error| registry.callers().explain(error, Some(at)))?;
                state.clock.join(clock);
                Ok(())
            }
            (its, _) => self.captured_wait(its, stream, state.capturing()),
        }
    }

    /// Everything enqueued on the stream from now on comes after the event, where one of the two belongs to a graph.
    #[cold]
    fn captured_wait(
        &self,
        its: &Recorded,
        stream: &StreamCore,
        capturing: &mut Option<Capturing>,
    ) -> Result<()> {
        let elsewhere = Detail::NotInGraph { operation: "a wait for what is no part of the graph" };
        match (its, capturing) {
            // A graph is one device's.
            (Recorded::Captured(its), _) if !stream.device.same(&self.device) || its.is_done() => {
                Err(elsewhere.into())
            }
            // The stream joins the graph.
            (Recorded::Captured(its), joins @ None) => {
                *joins = Some(its.clone());
                Ok(())
            }
            (Recorded::Captured(its), Some(capturing)) if its.is_of(capturing) => {
                capturing.comes_after(its);
                Ok(())
            }
            _ => Err(elsewhere.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::MachineModel;

    #[test]
    fn times_of_two_devices_are_not_compared() {
        let devices = Device::simulated_machine(MachineModel::h200(2));
        let [first, second] =
            [0, 1].map(|number: usize| Event::with_timing(&devices[number]).expect("an event"));
        let error = first.elapsed(&second).unwrap_err();
        assert_eq!(
            error.kind().to_string(),
            "the events belong to `simulated H200` and to another `simulated H200`: \
             times of two devices cannot be compared\n  \
             help: record both on streams of one device, or take the times on the host"
        );
        assert_eq!(error.place().operation, Some("elapsed"));
    }
}
