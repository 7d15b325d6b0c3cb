//! Collective operations of ranks whose devices are in one simulated machine.
//!
//! A rank *arrives* at a collective when it is first in its stream and the device is in no other one: like a kernel of
//! NCCL, it then occupies the device's links until it is over. Once all ranks of the communicator have arrived, the
//! collective takes the time that the links need, and ends on all ranks at once. So ranks that come in different
//! orders stand still, as they would on GPUs; here that is found, and each of them is told who waits for whom.
//!
//! What ranks do that others are waiting for and will not come to, because they have failed or do something else,
//! breaks the communicator: everything on it fails from then on, as after `ncclCommAbort`.

use std::fmt::Write;
use std::sync::Arc;

use super::active::Active;
use super::demand::Engine;
use super::machine::Machine;
use super::model::Nanos;
use super::queue::{Action, Command, Step};
use super::together;
use crate::base::collective::{self, Path};
use crate::base::error::Apart;
use crate::driver::Tag;
use crate::driver::collective::exchanged::Exchange;
use crate::driver::collective::{Joining, RawCollective, RawCommunicator};
use crate::driver::fault::between_ranks;

/// The devices of ranks that meet, or the way to ranks that do not.
pub(super) struct Communicator {
    /// The way to the others, if they are elsewhere.
    outside: Option<(Arc<dyn Exchange>, usize)>,

    /// Its number, which all ranks have in common.
    number: u64,
    /// The device of each rank that has joined.
    devices: Vec<Option<usize>>,
    /// What each rank has arrived with.
    arrived: Vec<Option<Arrived>>,
    /// Why nothing goes on any more.
    broken: Option<Apart>,
}

/// A rank that waits for others in a collective.
struct Arrived {
    stream: u64,
    tag: Tag,
    sequence: u64,
    enqueued_at: Nanos,
    collective: Box<RawCollective>,
}

impl Communicator {
    fn rank_of(&self, device: usize) -> Option<usize> {
        self.devices.iter().position(|known| *known == Some(device))
    }
}

impl Machine {
    /// Lets a device be a rank of a world. All ranks that give this number get one communicator.
    pub(super) fn join(&mut self, number: u64, [rank, size]: [usize; 2], device: usize) -> RawCommunicator {
        let known = self.communicators.iter().find(|(_, known)| known.number == number);
        let handle = known.map(|(handle, _)| handle).unwrap_or_else(|| {
            let arrived = (0..size).map(|_| None).collect();
            let devices = vec![None; size];
            self.communicators.insert(Communicator { outside: None, number, devices, arrived, broken: None })
        });
        if let Some(communicator) = self.communicators.get_mut(handle) {
            communicator.devices[rank] = Some(device);
        }
        RawCommunicator(handle)
    }

    /// The same for a world whose other ranks are elsewhere.
    pub(super) fn join_outside(&mut self, joining: &Joining) -> RawCommunicator {
        let Joining { number, size, ref exchange, .. } = *joining;
        let outside = Some((Arc::clone(exchange), size));
        let devices = Vec::new();
        let known = Communicator { outside, number, devices, arrived: Vec::new(), broken: None };
        RawCommunicator(self.communicators.insert(known))
    }

    /// The way to ranks that are elsewhere, and the number of ranks.
    pub(super) fn outside(&self, communicator: RawCommunicator) -> Option<(Arc<dyn Exchange>, usize)> {
        self.communicators.get(communicator.0)?.outside.clone()
    }

    /// Ends what [`join`](Self::join) has begun. The device's collectives are over.
    pub(super) fn leave(&mut self, communicator: RawCommunicator, device: usize) {
        let Some(known) = self.communicators.get_mut(communicator.0) else { return };
        if let Some(rank) = known.rank_of(device) {
            known.devices[rank] = None;
        }
        if known.devices.iter().all(Option::is_none) {
            self.communicators.remove(communicator.0);
        }
    }

    /// Lets ranks arrive that can, up to `horizon`, and begins what all have arrived at. Returns whether there was
    /// anything.
    pub(super) fn meet(&mut self, horizon: Nanos) -> bool {
        let (mut moved, mut failed) = (false, Vec::new());
        for (handle, stream) in self.streams.iter_mut() {
            let Some(head) = stream.queue.front().filter(|head| !stream.busy && head.enqueued_at <= horizon)
            else {
                continue;
            };
            let Step::Work(work) = &head.step else { continue };
            let Action::Collective(collective) = &work.action else { continue };
            let device = stream.device;
            let is_occupied =
                self.communicators.iter().any(|(_, known)| {
                    known.rank_of(device).is_some_and(|rank| known.arrived[rank].is_some())
                }) || self.active.iter().any(|active| active.is_of(device, Engine::Network));
            let Some(known) = self.communicators.get_mut(collective.communicator.0) else { continue };
            if let Some(why) = &known.broken {
                failed.push((handle, head.tag, why.clone()));
                continue;
            }
            let Some(rank) = known.rank_of(device).filter(|_| !is_occupied) else { continue };
            let Some(Command { step: Step::Work(work), tag, sequence, enqueued_at }) =
                stream.queue.pop_front()
            else {
                continue;
            };
            if let Action::Collective(collective) = work.action {
                stream.busy = true;
                known.arrived[rank] =
                    Some(Arrived { stream: handle, tag, sequence, enqueued_at, collective });
                moved = true;
            }
        }
        for (handle, tag, why) in failed {
            if let Some(stream) = self.streams.get_mut(handle) {
                stream.fail(between_ranks(tag, why));
                moved = true;
            }
        }
        let complete = |(_, known): &(u64, &Communicator)| {
            !known.arrived.is_empty() && known.arrived.iter().all(Option::is_some)
        };
        let complete: Vec<u64> =
            self.communicators.iter().filter(complete).map(|(handle, _)| handle).collect();
        complete.iter().for_each(|&handle| self.hold(handle));
        moved || !complete.is_empty()
    }

    /// Begins a collective at which all ranks have arrived.
    fn hold(&mut self, communicator: u64) {
        let Some(known) = self.communicators.get_mut(communicator) else { return };
        let collectives: Vec<_> =
            known.arrived.iter().flatten().map(|arrived| &*arrived.collective).collect();
        let chunks: Vec<u64> = known.arrived.iter().flatten().map(|arrived| arrived.tag.chunk).collect();
        if let Some(why) = together::disagreement(&collectives, &chunks) {
            return self.break_up(communicator, why);
        }
        let arrived: Vec<Arrived> = known.arrived.iter_mut().filter_map(Option::take).collect();
        let devices: Vec<usize> = known.devices.iter().copied().flatten().collect();
        let Some((first, others)) = arrived.split_first() else { return };
        let bytes = arrived.iter().map(|arrived| arrived.collective.bytes()).max().unwrap_or(0);
        let time = collective::time(first.collective.kind, bytes, devices.len(), self.path(&devices));
        let with = others.iter().map(|other| other.stream).zip(devices[1..].iter().copied());
        let (with, priority) = (with.map(|(stream, device)| (device, stream)).collect(), 0);
        let Arrived { stream, tag, sequence, enqueued_at, .. } = *first;
        let (device, started) = (devices[0], self.now);
        let work = arrived.into_iter().map(|arrived| arrived.collective.work).collect();
        self.active.push(Active {
            device,
            stream,
            with,
            priority,
            tag,
            engine: Engine::Network,
            by_kernel: false,
            action: Action::Body(together::body(work)),
            before: None,
            between: None,
            sequence,
            enqueued_at,
            started,
            transfer_at: started + time,
            transferring: false,
            remaining: 0.0,
            share: 1.0,
            rate: 0.0,
        });
    }

    /// The links of a ring of devices.
    fn path(&self, devices: &[usize]) -> Path {
        let mut path = Path { rate: f64::INFINITY, latency: 0.0 };
        for (index, &device) in devices.iter().enumerate() {
            let next = [device, devices[(index + 1) % devices.len()]];
            if next[0] != next[1] {
                let latency = self.shares.latency(next).unwrap_or(self.parts[device].model.copy_latency);
                path.rate = path.rate.min(self.shares.between(Some(next)));
                path.latency = path.latency.max(latency);
            }
        }
        path
    }

    /// Breaks the communicator of a collective that a device has left out, since something before it has failed.
    pub(super) fn break_for(&mut self, device: usize, communicator: RawCommunicator, text: &str) {
        let rank = self.communicators.get(communicator.0).and_then(|known| known.rank_of(device));
        if let Some(rank) = rank {
            let why = format!("rank {rank} has failed before its `{text}`");
            self.break_up(communicator.0, Apart { why, ranks: vec![rank] });
        }
    }

    /// Breaks what a lost device has a part in.
    pub(super) fn lose_rank(&mut self, device: usize) {
        let is_of = |(handle, known): (u64, &Communicator)| known.rank_of(device).map(|rank| (handle, rank));
        let ranks: Vec<_> = self.communicators.iter().filter_map(is_of).collect();
        for (communicator, rank) in ranks {
            if let Some(known) = self.communicators.get_mut(communicator) {
                known.arrived[rank] = None;
            }
            let why = format!("the device of rank {rank} is lost");
            self.break_up(communicator, Apart { why, ranks: vec![rank] });
        }
    }

    /// Lets everything on a communicator fail from now on, beginning with those who wait in it.
    pub(super) fn break_up(&mut self, communicator: u64, apart: impl Into<Apart>) {
        let now = self.now;
        let Some(known) = self.communicators.get_mut(communicator) else { return };
        let why = known.broken.get_or_insert_with(|| apart.into()).clone();
        for Arrived { stream, tag, .. } in known.arrived.iter_mut().filter_map(Option::take) {
            if let Some(stream) = self.streams.get_mut(stream) {
                stream.busy = false;
                stream.complete(now);
                stream.fail(between_ranks(tag, why.clone()));
            }
        }
    }

    /// The same for the communicator with this number, if there is one.
    pub(super) fn abort(&mut self, number: u64, why: &str) {
        let found = self.communicators.iter().find(|(_, known)| known.number == number);
        if let Some(communicator) = found.map(|(handle, _)| handle) {
            self.break_up(communicator, why.to_owned());
        }
    }

    /// Whether some rank waits for others.
    pub(super) fn awaits_ranks(&self) -> bool {
        self.communicators.iter().any(|(_, known)| known.arrived.iter().any(Option::is_some))
    }

    /// Breaks what ranks wait in for ever, since nothing else is going on, and tells each of them who waits for whom.
    pub(super) fn end_standstill(&mut self) {
        let waits = |(handle, known): (u64, &Communicator)| {
            known.arrived.iter().any(Option::is_some).then_some(handle)
        };
        let standing: Vec<u64> = self.communicators.iter().filter_map(waits).collect();
        let texts: Vec<_> = standing.iter().map(|&handle| self.standstill(handle)).collect();
        for (communicator, text) in standing.into_iter().zip(texts) {
            self.break_up(communicator, text.clone());
        }
    }

    /// Who waits for whom.
    fn standstill(&self, communicator: u64) -> String {
        let mut text = "the ranks wait for each other for ever".to_owned();
        let Some(known) = self.communicators.get(communicator) else { return text };
        for (rank, device) in known.devices.iter().enumerate() {
            let elsewhere = || {
                let others = self.communicators.iter().filter(|(handle, _)| *handle != communicator);
                others.filter_map(|(_, other)| other.arrived[other.rank_of((*device)?)?].as_ref()).next()
            };
            let _ = match known.arrived[rank].as_ref().or_else(elsewhere) {
                Some(Arrived { collective, tag, .. }) => write!(
                    text,
                    "\n  rank {rank} waits in {} of chunk {}, at line {}",
                    collective.signature(),
                    tag.chunk,
                    collective.line
                ),
                None => write!(text, "\n  rank {rank} does not come"),
            };
        }
        text
    }
}

/// What is said of a collective that was under way.
pub(super) const LOST: &str = "the device of another rank is lost";
