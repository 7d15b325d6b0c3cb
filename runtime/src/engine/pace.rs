//! [`Pace`]: how a device shows that it is done with the chunk in a slot, and so is free for another one.

use crate::base::plan::{Distance, Plan};
use crate::device::Device;
use crate::device::stream::Mark;
use crate::driver::DriverResult;

/// The marks after the last operations of each slot's chunk, for runs whose devices take chunks as they become
/// free.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// The plan's streams that are recorded: when their last operations are over, all operations are.
    ends: Vec<usize>,
    /// For each slot, a mark for each of these streams.
    marks: Vec<Mark>,
}

impl Pace {
    /// Makes the marks of so many slots.
    pub(crate) fn reserve(&mut self, device: &Device, plan: &Plan, slots: usize) -> DriverResult<()> {
        if self.ends.is_empty() {
            self.ends = ends(plan);
        }
        while self.marks.len() < slots * self.ends.len() {
            self.marks.push(Mark::new(device)?);
        }
        Ok(())
    }

    /// The streams that are recorded at the end of a chunk, each with the slot's mark.
    pub(crate) fn of(&self, slot: usize) -> impl Iterator<Item = (usize, &Mark)> {
        let marks = self.marks.iter().skip(slot * self.ends.len());
        self.ends.iter().copied().zip(marks)
    }
}

/// The streams whose last operation no later operation of a chunk waits for.
fn ends(plan: &Plan) -> Vec<usize> {
    let last = |stream: usize| plan.operations.iter().rposition(|operation| operation.stream == stream);
    // What a chunk may leave out shows nothing.
    let is_sure = |operation: usize| {
        let operation = &plan.operations[operation];
        !operation.conditional && operation.repeat.is_none()
    };
    let is_waited_for = |last: usize| {
        let mut waits =
            plan.waits.iter().filter(|wait| wait.distance == Distance::Same && is_sure(wait.operation));
        is_sure(last) && waits.any(|wait| plan.events[wait.event].operation == last)
    };
    (0..plan.streams.len()).filter(|&stream| last(stream).is_some_and(|last| !is_waited_for(last))).collect()
}
