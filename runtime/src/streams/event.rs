//! [`Event`]: a point in a stream.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::base::error::{ErrorKind, Result};
use crate::device::Device;
use crate::device::checked::capture::Capturing;
use crate::device::checked::core::StreamCore;
use crate::device::pending::progress::Clock;
use crate::device::pending::{Caller, Kind, caller};
use crate::device::stream as raw;
use crate::driver::Command;

/// A point in a stream, for other streams and the host to wait for, or to measure time from: a `cudaEvent_t`.
///
/// It stands for everything that was enqueued on the stream when it was [recorded](super::Stream::record) last. One that never
/// was is waited for in no time.
///
/// ```
/// use thalweg::{Device, DeviceBuf, Event, Spec, Stream};
///
/// let device = Device::simulated(Spec::h200());
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

/// What it stands for.
#[derive(Debug, Default)]
pub(super) enum Recorded {
    #[default]
    Nothing,
    /// What has come before.
    Enqueued(Clock),
    /// A place in a graph that is being captured.
    Captured(Capturing),
}

impl Recorded {
    fn clock(&self, what: &'static str) -> Result<Clock> {
        match self {
            Self::Nothing => Ok(Clock::default()),
            Self::Enqueued(clock) => Ok(clock.clone()),
            Self::Captured(_) => Err(ErrorKind::Capturing { what }.into()),
        }
    }
}

impl Event {
    /// One that orders and does not tell the time, which costs less.
    ///
    /// # Errors
    /// The driver refuses ([`ErrorKind::Driver`]).
    #[track_caller]
    pub fn new(device: &Device) -> Result<Self> {
        let raw = caller("Event::new").located(|| Ok(raw::Event::new(device)?))?;
        Ok(Self::of(device, raw, false))
    }

    /// One that also tells the time.
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

    /// The device whose streams it is for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits on the host until the stream has got to where it was recorded last.
    ///
    /// # Errors
    /// Something has failed in the stream by then; the calling thread may not wait for a device, since it runs a function of a
    /// stream's; it was recorded while a graph was captured.
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        caller("Event::synchronize").located(|| {
            self.device.may_wait(None)?;
            loop {
                let (clock, records) = {
                    let recorded = self.recorded();
                    (recorded.clock("waited for")?, self.records.load(Ordering::Acquire))
                };
                self.raw
                    .synchronize()
                    .map_err(|error| self.device.registry().callers().explain(error, None))?;
                // Else it is not known which record was waited for.
                if self.records.load(Ordering::Acquire) == records {
                    clock.reach();
                    return Ok(());
                }
            }
        })
    }

    /// Whether the stream has got to where it was recorded last.
    ///
    /// # Errors
    /// As [`synchronize`](Self::synchronize).
    #[track_caller]
    pub fn query(&self) -> Result<bool> {
        caller("Event::query").located(|| {
            let driver = self.device.driver();
            self.device.may_wait(None)?;
            driver.poll();
            // Nobody records it meanwhile.
            let recorded = self.recorded();
            let clock = recorded.clock("asked")?;
            let done = self
                .raw
                .is_complete()
                .map_err(|error| self.device.registry().callers().explain(error, None))?;
            if done {
                clock.reach();
            }
            Ok(done)
        })
    }

    /// The time from when this event was complete until `later` was; none, if it was the other way around. On a GPU half a
    /// microsecond more or less.
    ///
    /// # Errors
    /// One of them was made without timing ([`ErrorKind::NoTiming`]), was never recorded ([`ErrorKind::NeverRecorded`]), or is not
    /// complete yet ([`ErrorKind::Driver`]); they are of two devices ([`ErrorKind::StreamOfOtherDevice`]); one was recorded while a
    /// graph was captured ([`ErrorKind::Capturing`]).
    #[track_caller]
    pub fn elapsed(&self, later: &Self) -> Result<Duration> {
        caller("elapsed").located(|| {
            if !(self.timing && later.timing) {
                return Err(ErrorKind::NoTiming.into());
            }
            self.device.check_stream("Event", &later.device)?;
            self.device.may_wait(None)?;
            for event in [self, later] {
                let recorded = event.recorded();
                recorded.clock("asked")?;
                if let Recorded::Nothing = &*recorded {
                    return Err(ErrorKind::NeverRecorded.into());
                }
            }
            let nanos = self.raw.elapsed(&later.raw)?;
            Ok(Duration::from_nanos(nanos.max(0.0).round() as u64))
        })
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        // Nothing of the user's runs under the lock.
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stands for everything on the stream so far.
    pub(super) fn record(&self, stream: &StreamCore, at: Caller) -> Result<()> {
        stream.device.check_stream("Event", &self.device)?;
        stream.check_thread()?;
        let driver = self.device.driver();
        let registry = self.device.registry();
        self.device.may_wait(Some(at))?;
        // Dropped last: the last handle of a stream waits for it.
        let others = if stream.kind == Kind::Null { Vec::new() } else { stream.legacy_others() };
        // Nobody records or waits meanwhile: what is known of the event is what the driver knows.
        let mut recorded = self.recorded();
        let _legacy = stream.legacy();
        let mut state = stream.state();
        self.records.fetch_add(1, Ordering::AcqRel);
        if let Some(capturing) = state.capturing() {
            *recorded = Recorded::Captured(capturing.clone());
            return Ok(());
        }
        // A blocking stream was made to wait when something was enqueued on the null stream. Whether the null stream waits
        // before it records, CUDA's manual does not say.
        let joined = (!others.is_empty()).then(|| stream.with_legacy(&state, &others));
        state.enqueued += 1;
        let tag = registry.callers().tag(driver, at, state.enqueued);
        // SAFETY: both are live, and of one device.
        let outcome = unsafe { driver.enqueue(Command::Record(self.raw.raw), stream.raw, tag) };
        outcome.map_err(|error| registry.callers().explain(error, Some(at)))?;
        state.clock = joined.unwrap_or_else(|| std::mem::take(&mut state.clock));
        *recorded = Recorded::Enqueued(stream.now(&state));
        Ok(())
    }

    /// What is enqueued on the stream from now on comes after.
    pub(super) fn wait(&self, stream: &StreamCore, at: Caller) -> Result<()> {
        stream.device.check_stream("Event", &self.device)?;
        stream.check_thread()?;
        let driver = self.device.driver();
        self.device.may_wait(Some(at))?;
        let recorded = self.recorded();
        let mut state = stream.state();
        let elsewhere =
            || ErrorKind::NotInGraph { operation: "a wait for what is no part of the graph" }.into();
        match (&*recorded, state.capturing()) {
            (Recorded::Nothing, _) => Ok(()),
            (Recorded::Captured(its), _) if its.is_done() => Err(elsewhere()),
            // The stream joins the graph.
            (Recorded::Captured(its), joins @ None) => {
                *joins = Some(its.clone());
                Ok(())
            }
            (Recorded::Captured(its), Some(capturing)) if its.is_of(capturing) => {
                capturing.comes_after(its);
                Ok(())
            }
            (_, Some(_)) => Err(elsewhere()),
            (Recorded::Enqueued(clock), None) => {
                state.enqueued += 1;
                let registry = self.device.registry();
                let tag = registry.callers().tag(driver, at, state.enqueued);
                // SAFETY: both are live, and of one device.
                let outcome = unsafe { driver.enqueue(Command::Wait(self.raw.raw), stream.raw, tag) };
                outcome.map_err(|error| registry.callers().explain(error, Some(at)))?;
                state.clock.join(clock);
                Ok(())
            }
        }
    }
}
