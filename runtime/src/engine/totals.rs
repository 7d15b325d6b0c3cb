//! [`Totals`]: what a run has moved, and how far each output is complete.

use crate::base::error::Complete;
use crate::base::plan::{OperationKind, Plan};
use crate::base::report::Report;
use crate::engine::arguments::HostArgument;

/// What a run has done so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) to_device: u64,
    pub(crate) to_host: u64,
    pub(crate) staged: u64,
    /// For each operation, up to the last download that was enqueued, the chunks of which it was.
    enqueued: Vec<usize>,
    /// Likewise those that are known to have arrived. Known at the end.
    arrived: Vec<usize>,
}

impl Totals {
    /// A download of one chunk was enqueued.
    pub(crate) fn downloaded(&mut self, operation: usize) {
        if self.enqueued.len() <= operation {
            self.enqueued.resize(operation + 1, 0);
        }
        self.enqueued[operation] += 1;
    }

    /// What something else has moved.
    pub(crate) fn add(&mut self, other: &Self) {
        self.to_device += other.to_device;
        self.to_host += other.to_host;
        self.staged += other.staged;
    }

    /// Writes down what was moved.
    pub(crate) fn tell(&self, report: &mut Report) {
        (report.bytes_to_device, report.bytes_to_host) = (self.to_device, self.to_host);
        report.bytes_staged = self.staged;
    }

    /// What was delivered to pageable memory has arrived.
    pub(crate) fn note_arrivals(&mut self, arrived: impl Fn(usize) -> usize) {
        self.arrived = (0..self.enqueued.len()).map(arrived).collect();
    }

    /// Everything enqueued has arrived.
    pub(crate) fn all_arrived(&mut self) {
        self.arrived = std::mem::take(&mut self.enqueued);
    }

    /// How far each output got.
    ///
    /// `hosts`: the arguments. `lacking`: the first chunk that lacks what a function was to do. `start`: where a chunk begins.
    /// `accepted`: the chunks that the sink of a host has accepted, if it has one.
    pub(crate) fn complete(
        &self,
        plan: &Plan,
        hosts: &[HostArgument<'_>],
        lacking: usize,
        start: impl Fn(usize) -> usize,
        accepted: impl Fn(usize) -> Option<usize>,
    ) -> Vec<Complete> {
        let outputs = plan.hosts.iter().enumerate().filter(|(_, host)| host.writes);
        outputs
            .map(|(index, host)| {
                // An output that several operations write is complete as far as the slowest of them; what chunks may
                // leave out says nothing of how far it got.
                let arrived = |operation: usize| {
                    let known = self.arrived.get(operation).copied().unwrap_or(0);
                    if plan.operations[operation].conditional { 0 } else { known }
                };
                let downloads = plan.operations.iter().enumerate().filter(|(_, operation)| {
                    matches!(operation.kind, OperationKind::Download { host, .. } if host == index)
                });
                let arrived =
                    || downloads.map(|(operation, _)| arrived(operation)).min().unwrap_or(0).min(lacking);
                // A sink is given nothing that lacks anything.
                let chunks = accepted(index).unwrap_or_else(arrived);
                let shape = hosts[index].shape;
                let items = if shape.per_chunk { chunks } else { start(chunks) };
                let elements = items.saturating_mul(shape.per_item);
                Complete { host: host.name, chunks: chunks as u64, items, elements }
            })
            .collect()
    }
}
