//! [`Streams`]: the streams and events of a ring, as many as its slots need.

use crate::base::plan::Plan;
use crate::device::Device;
use crate::device::stream::{Event, Stream};
use crate::driver::DriverResult;

/// The plan's streams and events, slot after slot: when slots are added, the existing ones keep their
/// numbers.
#[derive(Debug)]
pub(crate) struct Streams {
    /// All of the plan's streams, which serve the first slot; then, for each further slot, its `per_slot`
    /// streams.
    streams: Vec<Stream>,
    /// For each of the plan's streams, how many before it are `per_slot`.
    ranks: Vec<usize>,
    per_slot: usize,
    /// For each slot, one of each of the plan's events.
    events: Vec<Event>,
    slots: usize,
}

impl Streams {
    pub(crate) fn new(device: &Device, plan: &Plan, slots: usize) -> DriverResult<Self> {
        let mut per_slot = 0;
        let rank = |stream: &crate::base::plan::StreamPlan| {
            let rank = per_slot;
            per_slot += usize::from(stream.per_slot);
            rank
        };
        let ranks = plan.streams.iter().map(rank).collect();
        let mut new = Self { streams: Vec::new(), ranks, per_slot, events: Vec::new(), slots: 0 };
        new.widen(device, plan, slots)?;
        Ok(new)
    }

    /// Adds the streams and events of further slots.
    pub(crate) fn widen(&mut self, device: &Device, plan: &Plan, slots: usize) -> DriverResult<()> {
        for slot in self.slots..slots {
            let of_slot = plan.streams.iter().filter(|stream| slot == 0 || stream.per_slot);
            let streams = of_slot.map(|stream| match stream.null {
                true => Stream::null(device),
                false => Stream::new(device, stream.priority),
            });
            let streams = streams.collect::<DriverResult<Vec<_>>>()?;
            let events = plan.events.iter().map(|_| Event::new(device)).collect::<DriverResult<Vec<_>>>()?;
            // Either both are added or neither, so that every slot up to `slots` has everything that it
            // needs.
            self.streams.extend(streams);
            self.events.extend(events);
            self.slots = slot + 1;
        }
        Ok(())
    }

    /// The number of one of the plan's streams; of the slot's own if each slot has one.
    #[inline]
    pub(crate) fn number(&self, stream: usize, slot: usize) -> usize {
        match slot {
            0 => stream,
            _ => self.ranks.len() + (slot - 1) * self.per_slot + self.ranks[stream],
        }
    }

    /// The number of one of the plan's events, for a slot.
    #[inline]
    pub(crate) fn event_number(&self, event: usize, slot: usize) -> usize {
        slot * (self.events.len() / self.slots) + event
    }

    /// The number of streams, counted from the first, that a run with `slots` slots uses. `spread`: where the
    /// run chooses, each slot has its own.
    pub(crate) fn used(&self, plan: &Plan, slots: usize, spread: bool) -> usize {
        let each = plan.streams.iter().any(|stream| stream.is_per_slot(spread));
        self.ranks.len() + if each { (slots.max(1) - 1) * self.per_slot } else { 0 }
    }

    /// The number of slots that they suffice for.
    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// All streams, by number.
    pub(crate) fn all(&self) -> &[Stream] {
        &self.streams
    }

    /// All events, by number.
    pub(crate) fn events(&self) -> &[Event] {
        &self.events
    }
}
