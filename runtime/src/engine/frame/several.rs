//! A run on several devices: each has a thread that enqueues its chunks, waits for it and gives back its part.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::base::error::{Complete, Detail, Error, Result};
use crate::base::machine::MachineModel;
use crate::base::plan::{BufferKind, Plan};
use crate::base::unwind::drop_payload;
use crate::device::Device;
use crate::engine::arguments::written::Written;
use crate::engine::arguments::{Arena, Arguments};
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::chunks::dealer::{Dealer, Dealing, Hand, Share};
use crate::engine::chunks::log::ChunkLog;
use crate::engine::feeds::exchange::{Closes, Exchange};
use crate::engine::feeds::streamed::{self, EndWork, explain_trouble};
use crate::engine::frame::agree::{Room, common_chunking, make_room};
use crate::engine::frame::ending::{end_of, named};
use crate::engine::frame::enqueue::Beside;
use crate::engine::frame::replicate::replicate;
use crate::engine::frame::report::{Ended, Partials};
use crate::engine::place::place_of_pipeline;
use crate::engine::purpose::Purpose;
use crate::engine::run::Run;
use crate::engine::totals::{Totals, outputs};
use crate::engine::{ChunkSize, Pipeline};
use crate::job::Cancels;
use crate::observe::timeline::{Basis, Timeline};
use crate::observe::watch::RunWatch;

/// A thread that enqueues what a device has of a run, until this is dropped.
struct Turn {
    device: Device,
    ticket: u64,
}

impl Turn {
    /// Announces the thread.
    fn expect(device: &Device) -> Self {
        Self { device: device.clone(), ticket: device.driver().expect_thread() }
    }

    /// Begins it: it is the calling one.
    fn begin(&self) {
        self.device.driver().begin_thread(self.ticket);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.device.driver().end_thread(self.ticket);
    }
}

/// What a device's thread works on.
struct Part<'p, 'a> {
    call: Call<'p, 'a>,
    room: Room,
    began: Duration,
    /// Absent from a prediction.
    turn: Option<Turn>,
}

/// What came of a device's thread: the error of its run, or the panic of the caller's code.
type Outcome = thread::Result<Ended>;

/// What the devices of a run have in common.
struct Together {
    dealer: Dealer,
    /// Present if there are sources or sinks.
    exchange: Option<Arc<Exchange>>,
    cancels: Cancels,
    chunking: Chunking,
    /// Whether the run ends where its sources do.
    endless: bool,
}

/// Ends the run on all devices, if a device's thread panics outside of its part.
struct GivesUp<'t>(&'t Together);

impl Drop for GivesUp<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.give_up();
        }
    }
}

/// What all devices have, without an error.
struct Done {
    timelines: Vec<Timeline>,
    partials: Vec<Partials>,
    complete: Vec<Complete>,
}

/// A run that has failed.
struct Failed {
    /// That of a device.
    error: Option<Error>,
    /// How far each output is complete, by the devices that have begun.
    complete: Vec<Complete>,
    /// The first chunk of a device that has not begun.
    missing: usize,
}

impl Together {
    /// Begins to note the chunks of sources, of which nobody looks back at more than `behind`.
    fn begin_log(&self, behind: usize) {
        if let Some(exchange) = &self.exchange {
            *exchange.log() = ChunkLog::new(self.chunking.largest(), behind);
        }
    }

    /// The chunks of the run.
    fn chunks(&self) -> Chunking {
        match self.exchange.as_ref().filter(|_| self.endless) {
            Some(exchange) => exchange.log().chunking(),
            None => self.chunking,
        }
    }

    /// The first item of a chunk.
    fn start(&self, chunk: usize) -> usize {
        match self.exchange.as_ref().filter(|_| self.endless) {
            Some(exchange) => exchange.log().start(chunk),
            None => self.chunking.start(chunk),
        }
    }

    /// Lets a device enqueue its chunks, and waits for it.
    fn carry_out(
        &self,
        Part { call, room, began, turn }: Part<'_, '_>,
        body: &(impl Fn(&Run<'_>) -> Result<()> + Sync),
        watch: &RunWatch,
    ) -> Outcome {
        turn.iter().for_each(Turn::begin);
        let hand = Hand::new(&self.dealer, call.pipeline.number);
        let share = Share { hand, began, cancels: self.cancels.clone() };
        let beside = Beside { exchange: self.exchange.as_ref(), share: Some(&share) };
        let part = AssertUnwindSafe(|| call.carry_out_part(self.chunking, room, body, watch, beside));
        let outcome = catch_unwind(part);
        if let Some(end) = end_of(&outcome, |ended| ended.outcome.as_ref()) {
            self.dealer.stop_before(end);
        }
        if let Some(exchange) = &self.exchange {
            // Others may wait for what this device was to give to a sink.
            exchange.lacks(share.hand.first_not_given(exchange.given()));
        }
        outcome
    }

    /// Ends the run on all devices, since one of them has no thread.
    fn give_up(&self) {
        self.dealer.stop_before(0);
        self.exchange.iter().for_each(|exchange| exchange.lacks(0));
    }

    /// What all devices have, or the error of the run. The sinks have written what they were given.
    fn done(&self, plan: &'static Plan, given: &Arguments<'_>, done: Result<Done, Failed>) -> Result<Done> {
        let trouble = self.exchange.as_ref().and_then(|exchange| exchange.trouble(0));
        let trouble = trouble.map(|(end, trouble)| explain_trouble(plan, end, &trouble));
        let Failed { error, mut complete, missing } = match done {
            Ok(done) if trouble.is_none() => return Ok(done),
            Ok(Done { complete, .. }) => Failed { error: None, complete, missing: usize::MAX },
            Err(failed) => failed,
        };
        for (host, complete) in outputs(plan).zip(&mut complete) {
            let accepted = self.exchange.as_ref().and_then(|exchange| exchange.accepted(host));
            let chunks = accepted.unwrap_or(missing.min(complete.chunks as usize));
            if chunks as u64 != complete.chunks {
                let shape = given.hosts[host].shape;
                complete.chunks = chunks as u64;
                complete.items = if shape.per_chunk { chunks } else { self.start(chunks) };
                complete.elements = complete.items.saturating_mul(shape.per_item);
            }
        }
        let error = error.or(trouble).unwrap_or_else(|| Detail::Skipped.into());
        Err(error.with_complete(complete))
    }
}

impl Call<'_, '_> {
    /// Runs the pipeline on all of its devices: prepares the memory of each, lets `body` enqueue its chunks on a
    /// thread of its own, and waits until all of them are done.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), with the device.
    pub(super) fn carry_out_on_all(
        mut self,
        declared: ChunkSize,
        body: &(impl Fn(&Run<'_>) -> Result<()> + Sync),
        watch: &RunWatch,
    ) -> Result<Box<Timeline>> {
        let combined = std::mem::take(&mut self.arguments.combined);
        let given = self.arguments.again(Arena::default(), 0);
        let (plan, endless) = (self.pipeline.plan, self.is_endless());
        let (is_run, measures) = (self.purpose != Purpose::Predict, self.purpose != Purpose::Run);
        if let Some((_, buffer)) = self.arguments.borders.as_ref().filter(|_| self.arguments.has_feeds) {
            return Err(Error::new(Detail::PartsStreamed { buffer }).at(self.pipeline.place()));
        }
        let mut calls = self.on_each();
        for call in &mut calls {
            call.admit().map_err(|error| call.pipeline.named(error))?;
            call.use_host_memory();
        }
        let basis = calls[0].basis(declared);
        let chunking = common_chunking(&mut calls, declared)?;
        watch.begin();
        let (chunking, rooms) = make_room(&mut calls, declared, chunking)?;
        let slots = calls.iter().map(|call| call.pipeline.depth);
        let (least, most) = (slots.clone().min().unwrap_or(1), slots.max().unwrap_or(1));
        if !endless {
            watch.is_cut(chunking.chunks(), most);
        }
        let feeds = (calls[0].arguments.has_feeds && is_run).then(|| calls[0].take_feeds());
        let (exchange, threads) = feeds.unzip();
        let together = Together {
            dealer: match &calls[0].arguments.borders {
                Some((borders, _)) => Dealer::by_owner(chunking, borders),
                None => Dealer::new(chunking, calls.len(), least, calls[0].dealing()),
            },
            exchange,
            cancels: Cancels::of_this_thread(),
            chunking,
            endless,
        };
        together.begin_log(calls.len() * (2 * most + 2));
        let devices: Vec<_> = calls.iter().map(|call| call.pipeline.device.clone()).collect();
        let names: Vec<_> = calls.iter().map(|call| call.pipeline.device.label()).collect();
        let carry_out = |part: Part<'_, '_>, watch: &RunWatch| together.carry_out(part, body, watch);
        let began = begin_together(&calls, is_run);
        if let Err(error) = replicate(&mut calls) {
            // Nothing was enqueued for a chunk.
            let complete = Totals::default().complete(plan, &given.hosts, |_| 0, |_| 0, |_| None);
            let failed = Failed { error: Some(error), complete, missing: 0 };
            together.done(plan, &given, Err(failed))?;
            return Err(Detail::Skipped.into());
        }
        let parts = parts(calls, rooms, began, is_run);
        let outcomes = match (is_run, &together.exchange) {
            // Nothing is waited for.
            (false, _) => parts.into_iter().map(|part| carry_out(part, watch)).collect(),
            (true, None) => on_threads(parts, watch, &together, &carry_out),
            (true, Some(exchange)) => with_feeds(plan, exchange, threads.unwrap_or_default(), || {
                on_threads(parts, watch, &together, &carry_out)
            })?,
        };
        let Done { timelines, partials, .. } = together.done(
            plan,
            &given,
            all_of(outcomes, &names, |device| together.dealer.undealt(device, 0)),
        )?;
        if is_run {
            // This runs code of the user's: nothing is in flight any more.
            for (index, combined) in combined.iter().enumerate() {
                partials.iter().for_each(|of_device| combined.add(&of_device[index]));
            }
            Written { plan, chunks: together.chunks().chunks() }.note(&given);
        }
        let machine = if measures { MachineModel::find(&devices) } else { MachineModel::known(&devices) };
        let mut timeline = Box::new(Timeline::of_parts(timelines, machine));
        if let Some(exchange) = &together.exchange {
            timeline.report.awaited = exchange.awaited();
        }
        if endless {
            watch.had(timeline.report.items);
            watch.is_cut(timeline.report.chunks, most);
        }
        timeline.basis = Basis { by_bytes: timeline.basis.by_bytes, ..basis };
        Ok(timeline)
    }

    /// Carries out what a device has of a run.
    fn carry_out_part(
        mut self,
        chunking: Chunking,
        room: Room,
        body: &(impl Fn(&Run<'_>) -> Result<()> + Sync),
        watch: &RunWatch,
        beside: Beside<'_>,
    ) -> Ended {
        let Beside { exchange, share } = beside;
        let enqueued = match room {
            Room::Kept => self.repeat(chunking, share).ok_or_else(|| Detail::Skipped.into()),
            Room::Made { stages } if self.purpose == Purpose::Predict => {
                return Ended::of(self.predict(chunking, stages, body, share));
            }
            Room::Made { stages } => self.enqueue(chunking, stages, body, watch, beside),
        };
        let (exchange, hand) = (exchange.map(|exchange| &**exchange), share.map(|share| &share.hand));
        match enqueued {
            Ok(enqueued) => self.drain(enqueued, exchange, hand).end(watch, exchange, hand),
            Err(error) => Ended::of(Err(error)),
        }
    }

    /// The order in which chunks are dealt. What devices add up must not depend on time; sources and sinks have their
    /// chunks in order; and a prediction has no time yet.
    fn dealing(&self) -> Dealing {
        let is_carried = |kind| matches!(kind, BufferKind::Carry | BufferKind::CarryPerSlot);
        let carries = self.pipeline.plan.buffers.iter().any(|buffer| is_carried(buffer.kind));
        match carries || self.arguments.has_feeds || self.purpose == Purpose::Predict {
            true => Dealing::InTurns,
            false => Dealing::Free,
        }
    }
}

/// Carries out a run with sources and sinks. Their threads have ended when this returns.
fn with_feeds<'a>(
    plan: &'static Plan,
    exchange: &Arc<Exchange>,
    threads: Vec<(usize, EndWork<'a>)>,
    carry_out: impl FnOnce() -> Vec<Outcome>,
) -> Result<Vec<Outcome>> {
    thread::scope(|scope| {
        let closes = Closes(exchange);
        streamed::start(scope, exchange, threads).map_err(|error| error.at(place_of_pipeline(plan)))?;
        let outcomes = carry_out();
        exchange.close(false);
        exchange.finish_sinks(plan);
        drop(closes);
        // The scope waits for them too, but would not say for which.
        exchange.wait_for_threads(plan);
        Ok(outcomes)
    })
}

/// Lets the run begin at the same time on all devices, and returns that time for each. `is_run`: it is not only
/// predicted.
fn begin_together(calls: &[Call<'_, '_>], is_run: bool) -> Vec<Duration> {
    let clock = |call: &Call<'_, '_>| call.pipeline.device.driver().clock();
    if is_run {
        let latest = calls.iter().map(clock).max().unwrap_or_default();
        calls.iter().for_each(|call| call.pipeline.device.driver().not_before(latest));
    }
    calls.iter().map(clock).collect()
}

/// What the threads of all devices work on, and when each has begun. `is_run`: it is not only predicted.
fn parts<'p, 'a>(
    calls: Vec<Call<'p, 'a>>,
    rooms: Vec<Room>,
    began: Vec<Duration>,
    is_run: bool,
) -> Vec<Part<'p, 'a>> {
    // One thread has copied what the run shares.
    begin_together(&calls, is_run);
    let part = |((call, room), began): ((Call<'p, 'a>, Room), Duration)| {
        let turn = is_run.then(|| Turn::expect(&call.pipeline.device));
        Part { call, room, began, turn }
    };
    calls.into_iter().zip(rooms).zip(began).map(part).collect()
}

/// Carries out the part of each device, the first on this thread and each other one on its own.
fn on_threads<'p, 'a>(
    mut parts: Vec<Part<'p, 'a>>,
    watch: &RunWatch,
    together: &Together,
    carry_out: &(impl Fn(Part<'p, 'a>, &RunWatch) -> Outcome + Sync),
) -> Vec<Outcome> {
    let others = parts.split_off(1);
    thread::scope(|scope| {
        let start = |part: Part<'p, 'a>| {
            let Pipeline { number, plan, .. } = *part.call.pipeline;
            let (name, watch) = (format!("thalweg device {number}"), watch.of_part(number, plan));
            let work = move || {
                let _gives_up = GivesUp(together);
                carry_out(part, &watch.enter())
            };
            thread::Builder::new().name(name).spawn_scoped(scope, work)
        };
        let others: Vec<_> = others.into_iter().map(start).collect();
        if others.iter().any(Result::is_err) {
            together.give_up();
        }
        let first = parts.pop().map(|part| carry_out(part, watch));
        let others = others.into_iter().map(|thread| match thread {
            Ok(thread) => thread.join().unwrap_or_else(Err),
            Err(error) => {
                let error = Detail::NoThread { message: error.to_string() };
                Ok(Ended::of(Err(error.into())))
            }
        });
        first.into_iter().chain(others).collect()
    })
}

/// What all devices have, or the first error of the run. `names`: what the devices are called; `first_chunk`: the first
/// chunk of each.
///
/// # Panics
/// If the caller's code has panicked on a device, the panic goes on.
fn all_of(
    outcomes: Vec<Outcome>,
    names: &[String],
    first_chunk: impl Fn(usize) -> usize,
) -> Result<Done, Failed> {
    let mut ended = Vec::with_capacity(outcomes.len());
    let mut panicked = None;
    for outcome in outcomes {
        match outcome {
            Ok(of_device) => ended.push(of_device),
            Err(panic) if panicked.is_none() => panicked = Some(panic),
            // Its destructor may panic.
            Err(panic) => drop_payload(panic),
        }
    }
    if let Some(panic) = panicked {
        resume_unwind(panic);
    }
    // A device that has not begun knows of no outputs, and lacks its first chunk.
    let begun = |ended: &&Ended| !ended.complete.is_empty();
    let complete = ended.iter().filter(begun).map(|ended| ended.complete.clone()).reduce(least);
    let has_not_begun = |(_, ended): &(usize, &Ended)| ended.outcome.is_err() && ended.complete.is_empty();
    let missing = ended.iter().enumerate().filter(has_not_begun).map(|(device, _)| first_chunk(device)).min();
    let (mut timelines, mut partials) = (Vec::new(), Vec::new());
    let mut first: Option<Error> = None;
    for (number, (ended, name)) in ended.into_iter().zip(names).enumerate() {
        match ended.outcome {
            Ok(timeline) => timelines.push(*timeline),
            Err(error) => {
                // Errors without a chunk came before all of them.
                let is_first = first.as_ref().is_none_or(|first| error.place().chunk < first.place().chunk);
                let named = |error| named(error, |error| error.on_device(number, name.clone()));
                first = if is_first { Some(named(error)) } else { first };
            }
        }
        partials.push(ended.partials);
    }
    match first {
        Some(error) => {
            let missing = missing.unwrap_or(usize::MAX);
            Err(Failed { error: Some(error), complete: complete.unwrap_or_default(), missing })
        }
        None => Ok(Done { timelines, partials, complete: complete.unwrap_or_default() }),
    }
}

/// How far each output is complete, if each device has left these chunks incomplete.
fn least(one: Vec<Complete>, other: Vec<Complete>) -> Vec<Complete> {
    let less = |(one, other): (Complete, Complete)| if other.chunks < one.chunks { other } else { one };
    one.into_iter().zip(other).map(less).collect()
}
