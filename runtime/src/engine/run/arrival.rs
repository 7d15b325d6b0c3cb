//! Runs with sources and sinks: a chunk begins when its sources have filled it, and ends when its sinks have
//! accepted it.

use std::time::{Duration, Instant};

use crate::base::chunk::Chunk;
use crate::base::error::{Detail, Error, Place, Result};
use crate::base::host_copy::let_a_moment_pass;
use crate::base::plan::Plan;
use crate::driver::DriverResult;
use crate::engine::chunks::dealer::Hand;
use crate::engine::explain::explain;
use crate::engine::feeds::awaited::Wait;
use crate::engine::feeds::exchange::{End, Exchange};
use crate::engine::feeds::streamed::{ByChunk, Streaming, explain_trouble, place_of_end};
use crate::engine::place::place_of_pipeline;
use crate::engine::run::Run;
use crate::engine::run::resources::Resources;
use crate::engine::staging::Staging;

// Note 33: virtual time does not depend on how quick threads are.
/// How long the host waits for a source or a sink before it lets a simulated device go on meanwhile. The
/// device's behaviour should not depend on the speed of threads, as long as they are quick.
const PATIENCE: Duration = Duration::from_millis(20);

/// The most of this that passes at once. A busy machine may let all threads of a process stand still for longer, and
/// then none of them was slow.
const MOMENT: Duration = Duration::from_millis(1);

/// How long a run that answers callers polls them and the device before it sleeps: about twice as long as
/// waking it takes.
const ALERT: Duration = Duration::from_micros(100);

/// How long it polls while the device still has a result for somebody: most frames are done sooner.
const ALERT_TO_DEVICE: Duration = Duration::from_millis(1);

/// The longest sleep, and so the longest time until the run learns that it is to end.
const IDLE: Duration = Duration::from_millis(20);

/// How often the host polls a device while it waits for threads too.
const PAUSE: Duration = Duration::from_micros(50);

/// What a device's thread waits for, other than its own device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// Sources or sinks, which have everything that they need.
    Threads,
    /// What another device of the run is to do first.
    OtherDevices,
}

/// A wait for anything other than the device.
#[derive(Default)]
pub(crate) struct Waited {
    patience: Patience,
    /// The version seen last by a wait for other devices.
    seen: Option<u64>,
    /// Whether a simulated device has carried out all that was enqueued, while nothing else happened.
    is_through: bool,
    /// The version seen last and the number of results due from the device, and when they last changed.
    heard: Option<((u64, usize), Instant)>,
}

/// What is left of the host's patience.
#[derive(Default)]
struct Patience {
    looked: Option<Instant>,
    /// The time that has passed, in moments.
    passed: Duration,
}

impl Patience {
    fn left(&mut self) -> Duration {
        self.left_at(Instant::now())
    }

    fn left_at(&mut self, now: Instant) -> Duration {
        let passed = self.looked.replace(now).map(|looked| now.duration_since(looked));
        self.passed += passed.unwrap_or_default().min(MOMENT);
        PATIENCE.saturating_sub(self.passed)
    }
}

/// Why the next chunk of a source or a sink cannot be had.
enum Halt {
    /// A function or another device has failed; the failure is reported when the devices are done.
    Elsewhere,
    Error(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// The error of a run that was asked to end before this chunk.
pub(crate) fn cancelled(plan: &'static Plan, chunk: Option<u64>) -> Error {
    Error::new(Detail::Cancelled).at(Place { chunk, ..place_of_pipeline(plan) })
}

impl Run<'_> {
    /// The chunks, in order. Waits for each chunk that sources fill.
    pub fn chunks(&self) -> impl Iterator<Item = Chunk> + '_ {
        let (chunking, mut index) = (self.chunks.chunking.get(), 0);
        let chunks = chunking.chunks();
        std::iter::from_fn(move || {
            if let Some(hand) = self.chunks.hand {
                let chunk = match &self.chunks.streaming {
                    Some(streaming) => self.next_dealt_by_sources(streaming, hand),
                    None => self.next_dealt(hand, index),
                };
                index += 1;
                return chunk;
            }
            let left = match &self.chunks.streaming {
                Some(streaming) => !self.chunks.ended.get() && (streaming.endless || index < chunks),
                None => index < chunks,
            };
            if self.chunks.cancels.any() && left {
                self.order.refuse_with(cancelled(self.resources.plan, Some(index as u64)));
                return None;
            }
            let chunk = match &self.chunks.streaming {
                None if index < chunks => chunking.at(index),
                None => return None,
                Some(streaming) => self.next_chunk(streaming, index)?,
            };
            index += 1;
            if let Err(error) = self.keep_pace(chunk) {
                self.order.refuse_with(error);
                return None;
            }
            Some(chunk)
        })
    }

    /// Before a chunk of which this rank has no item: waits for the collectives of those before it, once in as many
    /// chunks as the ring has slots. With nothing to stage, the host would otherwise wait for no slot, and would enqueue
    /// all that is left of the run before it notices that another rank has failed.
    ///
    /// # Errors
    /// What was on a stream has failed, or a rank has.
    fn keep_pace(&self, chunk: Chunk) -> Result<()> {
        let Resources { device, plan, depth, .. } = self.resources;
        if chunk.len > 0 || !chunk.index.is_multiple_of(depth.max(1)) {
            return Ok(());
        }
        // SAFETY: the streams live as long as the run.
        unsafe { self.posted.wait(device) }.map_err(|error| explain(plan, error))
    }

    fn next_chunk(&self, streaming: &Streaming<'_>, index: usize) -> Option<Chunk> {
        if !self.order.is_kept() {
            return None;
        }
        let chunk =
            if streaming.endless { self.chunks.log.borrow().next() } else { streaming.whole.at(index) };
        self.arrived(self.arrival(streaming, chunk))
    }

    /// The next chunk of this device, one of several, once its sources have filled it.
    fn next_dealt_by_sources(&self, streaming: &Streaming<'_>, hand: &Hand<'_>) -> Option<Chunk> {
        self.note_enqueued(hand);
        if !self.order.is_kept() {
            return None;
        }
        let Some(next) = hand.next().filter(|_| !self.chunks.ended.get()) else {
            if hand.has_stopped() {
                self.order.stop();
            }
            return None;
        };
        if self.chunks.cancels.any() {
            self.order.refuse_with(cancelled(self.resources.plan, Some(next.index as u64)));
            return None;
        }
        let chunk = self.arrived(self.arrival(streaming, next))?;
        hand.has_arrived(chunk);
        Some(chunk)
    }

    /// The chunk that has arrived, unless the run is over, or halts.
    fn arrived(&self, arrival: Result<Option<Chunk>, Halt>) -> Option<Chunk> {
        match arrival {
            Ok(chunk) => chunk,
            Err(Halt::Elsewhere) => {
                self.order.stop();
                None
            }
            Err(Halt::Error(error)) => {
                self.order.refuse_with(error);
                None
            }
        }
    }

    /// Waits for the next chunk, as far as it is known; `None` after the last one.
    fn arrival(&self, streaming: &Streaming<'_>, chunk: Chunk) -> Result<Option<Chunk>, Halt> {
        let Streaming { exchange, endless, room, .. } = *streaming;
        let index = chunk.index;
        if exchange.function_has_failed() {
            return Err(Halt::Elsewhere);
        }
        if chunk.len == 0 && self.chunks.may_be_empty(index) {
            // Other ranks have items of it, and the sources of this one have ended.
            return Ok(Some(chunk));
        }
        if chunk.len == 0 || self.chunks.ended.get() {
            return Ok(None);
        }
        // Operations recorded for the chunk before need not wait for this one.
        self.launch()?;
        self.wait_for_sources(streaming, chunk)?;
        let len = self.length(streaming, chunk)?;
        if !endless {
            return Ok(Some(chunk));
        }
        self.chunks.ended.set(exchange.ends_before(index + 1));
        if len == 0 {
            return Ok(None);
        }
        if let Some(ByChunk { name: host, len, per_chunk, place }) =
            room.filter(|room| index >= room.chunks())
        {
            let kind = Detail::PerChunkLength { host, len, chunks: index + 1, per_chunk };
            return Err(Error::new(kind).at(place).into());
        }
        if self.chunks.hand.is_some() {
            return self.has_had(streaming, chunk, len).map(Some);
        }
        // The chunks known so far: operations of later chunks are refused.
        let chunk = self.chunks.log.borrow_mut().push(len);
        self.chunks.chunking.set(self.chunks.log.borrow().chunking());
        Ok(Some(chunk))
    }

    /// Adds a chunk of `len` items to those that all devices have had, once the ones before it were: only then is it
    /// known where it begins.
    fn has_had(&self, streaming: &Streaming<'_>, chunk: Chunk, len: usize) -> Result<Chunk, Halt> {
        let Streaming { exchange, .. } = *streaming;
        let mut waited = Waited::default();
        loop {
            let version = exchange.version();
            if let Some(chunk) = exchange.has_had(chunk, len) {
                return Ok(chunk);
            }
            if exchange.function_has_failed() || self.has_stopped_before(chunk) {
                return Err(Halt::Elsewhere);
            }
            let mut staging = self.taken.staging.borrow_mut();
            self.wait_for_threads(&mut staging, exchange, (For::OtherDevices, version), &mut waited)
                .map_err(|error| explain(self.resources.plan, error))?;
        }
    }

    /// Whether another device of the run has failed, so that nobody has this chunk.
    fn has_stopped_before(&self, chunk: Chunk) -> bool {
        self.chunks.hand.is_some_and(|hand| hand.has_stopped_before(chunk.index))
    }

    /// Waits until every source has filled a chunk, and lets them go on meanwhile and afterwards.
    fn wait_for_sources(&self, streaming: &Streaming<'_>, chunk: Chunk) -> Result<(), Halt> {
        let Streaming { exchange, .. } = *streaming;
        let explained = |error| explain(self.resources.plan, error);
        let mut staging = self.taken.staging.borrow_mut();
        let (mut waited, mut wait) = (Waited::default(), Wait::new(exchange, self.resources.plan));
        let mut has_asked = false;
        loop {
            let version = exchange.version();
            if !std::mem::replace(&mut has_asked, self.chunks.devices() == 1) {
                for (number, end) in exchange.sources() {
                    // The only way on is to wait until the device is done with the slots. Sources are asked in
                    // order, so that another device may have to ask first.
                    self.settle_and_ask(&mut staging, streaming, (number, end), chunk).map_err(explained)?;
                }
                self.read_on(&mut staging, chunk.index).map_err(explained)?;
            }
            // The device may have called the function just now. Its results are withheld, and callers that
            // wait for them push nothing more.
            if exchange.function_has_failed() || self.has_stopped_before(chunk) {
                return Err(Halt::Elsewhere);
            }
            if let Some((end, trouble)) = exchange.trouble(chunk.index + 1) {
                return Err(explain_trouble(self.resources.plan, end, &trouble).into());
            }
            if exchange.sources().all(|(number, _)| exchange.has_filled(number, chunk.index)) {
                return Ok(());
            }
            if self.chunks.cancels.any() {
                return Err(cancelled(self.resources.plan, Some(chunk.index as u64)).into());
            }
            if !self.ask_ahead(&mut staging, streaming, chunk.index).map_err(explained)? {
                wait.goes_on(|number, end| !end.is_sink && !exchange.has_filled(number, chunk.index));
                let are_asked = exchange.sources().all(|(number, _)| exchange.next(number) > chunk.index);
                let what = if are_asked { For::Threads } else { For::OtherDevices };
                self.wait_for_threads(&mut staging, exchange, (what, version), &mut waited)
                    .map_err(explained)?;
            }
        }
    }

    /// The items of a chunk that all sources have filled.
    fn length(&self, Streaming { exchange, endless, .. }: &Streaming<'_>, chunk: Chunk) -> Result<usize> {
        let mut lengths = exchange.sources().map(|(number, end)| (exchange.items(number, chunk), end));
        let ended = |(items, end): (usize, &End), given, other| {
            let (host, items) = (end.name, chunk.start + items);
            let kind = match endless {
                true => Detail::SourcesDiffer { host, items, other, given },
                false => Detail::SourceEnded { host, items, other, wanted: given },
            };
            Error::new(kind).at(place_of_end(self.resources.plan, end, Some(chunk.index)))
        };
        if !endless {
            let short = lengths.find(|(items, _)| *items < chunk.len);
            let (wanted, other) = self.chunks.wanted;
            return short.map_or(Ok(chunk.len), |short| Err(ended(short, wanted, other)));
        }
        let Some(first) = lengths.next() else { return Ok(0) };
        let (shortest, longest) = lengths.fold((first, first), |(shortest, longest), next| {
            let shorter = next.0 < shortest.0;
            (if shorter { next } else { shortest }, if next.0 > longest.0 { next } else { longest })
        });
        if shortest.0 < longest.0 {
            return Err(ended(shortest, chunk.start + longest.0, longest.1.name));
        }
        Ok(first.0)
    }

    /// The host has to wait for threads of sources or sinks, perhaps for the device too: does the work that
    /// is possible meanwhile.
    pub(crate) fn wait_for_threads(
        &self,
        staging: &mut Staging,
        exchange: &Exchange,
        (what, version): (For, u64),
        waited: &mut Waited,
    ) -> DriverResult<()> {
        let nothing_left = self.chunks.streaming.is_some_and(|streaming| {
            let next = self.chunks.current().chunk.index.saturating_add(self.chunks.devices());
            !streaming.endless && next >= streaming.whole.own_chunks()
        });
        if nothing_left || exchange.has_ended() || self.chunks.cancels.any() {
            // A caller that no longer pushes may wait for the run before it pulls.
            exchange.keep();
        }
        let device = &self.resources.device;
        let on_host = device.is_on_host();
        if self.target.polls() || exchange.is_called() && !on_host {
            return self.look_out(staging, exchange, version, waited);
        }
        let is_wanted = exchange.is_wanted();
        if exchange.version() != version {
            // Data that were pushed before a caller began to wait for their results come first.
            return Ok(());
        }
        // Another device is slow only if nothing happens at all: it may be waiting for threads itself.
        if what == For::OtherDevices && waited.seen.replace(version) != Some(version) {
            waited.patience = Patience::default();
        }
        // The progress of a simulated device does not depend on the threads, unless they are slow.
        let is_patient = device.is_simulated() && !is_wanted;
        if is_patient && !waited.patience.left().is_zero() {
            let mut wait = || exchange.wait_patiently(version, || waited.patience.left().min(MOMENT));
            match what {
                // The simulation does not go on meanwhile, as with one device.
                For::Threads => wait(),
                For::OtherDevices => exchange.aside(device, version, wait),
            }
        } else if !staging.deliver_first(|slot, done| self.target.wait_for(slot, done))? {
            exchange.wait_aside(device, version, PATIENCE);
            let nothing_new = exchange.version() == version;
            if on_host && nothing_new && !std::mem::replace(&mut waited.is_through, true) {
                // Only functions and callbacks are left. Nothing waits for them, except perhaps the caller
                // for which this run waits.
                self.resources.device.driver().synchronize_device()?;
            }
        }
        Ok(())
    }

    /// Waits for the device and for others at the same time, polling both.
    fn look_out(
        &self,
        staging: &mut Staging,
        exchange: &Exchange,
        version: u64,
        waited: &mut Waited,
    ) -> DriverResult<()> {
        if self.target.polls() {
            self.attend(staging)?;
        } else {
            self.deliver_ready(staging)?;
            let_a_moment_pass();
        }
        if !exchange.is_called() {
            exchange.wait_aside(self.resources.device, version, PAUSE);
            return Ok(());
        }
        let (now, due) = (Instant::now(), staging.due());
        let (_, since) = *match &mut waited.heard {
            Some(heard) if heard.0 == (version, due) => heard,
            heard => heard.insert(((version, due), now)),
        };
        // If no result is due from the device, somebody else is next.
        let (alert, pause) = if due == 0 { (ALERT, IDLE) } else { (ALERT_TO_DEVICE, PAUSE) };
        if now.duration_since(since) >= alert {
            exchange.wait_aside(self.resources.device, version, pause);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_stands_still_does_not_lose_its_patience() {
        let (mut patience, begun) = (Patience::default(), Instant::now());
        assert_eq!(patience.left_at(begun), PATIENCE);
        assert_eq!(patience.left_at(begun + MOMENT / 2), PATIENCE - MOMENT / 2);
        assert_eq!(patience.left_at(begun + 50 * PATIENCE), PATIENCE - MOMENT * 3 / 2);
        let left = (1..=20).map(|moment| patience.left_at(begun + 50 * PATIENCE + moment * MOMENT)).last();
        assert_eq!(left, Some(Duration::ZERO));
    }
}
