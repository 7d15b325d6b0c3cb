//! [`Totals`]: the amount of data that a run has moved, and how far each output is complete.

use crate::base::error::Complete;
use crate::base::plan::{HostPlan, OperationKind, Plan};
use crate::base::report::Report;
use crate::engine::arguments::HostArgument;

/// The totals of a run so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    pub(crate) to_device: u64,
    pub(crate) to_host: u64,
    pub(crate) staged: u64,
    /// For each operation, the number of chunks enqueued, if it is a download.
    enqueued: Vec<usize>,
    /// The number of those known to have arrived; the end of the run sets it.
    arrived: Vec<usize>,
}

impl Totals {
    /// Counts a download of one chunk that was enqueued.
    pub(crate) fn downloaded(&mut self, operation: usize) {
        if self.enqueued.len() <= operation {
            self.enqueued.resize(operation + 1, 0);
        }
        self.enqueued[operation] += 1;
    }

    /// Adds data that something else has moved.
    pub(crate) fn add(&mut self, other: &Self) {
        self.to_device += other.to_device;
        self.to_host += other.to_host;
        self.staged += other.staged;
    }

    /// Writes the totals into the report.
    pub(crate) fn tell(&self, report: &mut Report) {
        (report.bytes_to_device, report.bytes_to_host) = (self.to_device, self.to_host);
        report.bytes_staged = self.staged;
    }

    /// Notes that data delivered to pageable memory have arrived.
    pub(crate) fn note_arrivals(&mut self, arrived: impl Fn(usize) -> usize) {
        self.arrived = (0..self.enqueued.len()).map(arrived).collect();
    }

    /// Notes that everything enqueued has arrived.
    pub(crate) fn all_arrived(&mut self) {
        self.arrived = std::mem::take(&mut self.enqueued);
    }

    /// How far each output is complete.
    ///
    /// `hosts`: the arguments. `first_missing`: the first chunk that is incomplete if so many have arrived. `start`: the
    /// first item of a chunk. `accepted`: the number of chunks that the sink of a host has accepted, if it
    /// has one.
    pub(crate) fn complete(
        &self,
        plan: &Plan,
        hosts: &[HostArgument<'_>],
        first_missing: impl Fn(usize) -> usize,
        start: impl Fn(usize) -> usize,
        accepted: impl Fn(usize) -> Option<usize>,
    ) -> Vec<Complete> {
        outputs(plan)
            .map(|index| {
                // An output that several operations write is complete as far as the slowest of them; an
                // operation that chunks may leave out does not show how far the output got.
                let arrived = |operation: usize| {
                    let known = self.arrived.get(operation).copied().unwrap_or(0);
                    if plan.operations[operation].conditional { 0 } else { known }
                };
                let downloads = plan.operations.iter().enumerate().filter(|(_, operation)| {
                    matches!(operation.kind, OperationKind::Download { host, .. } if host == index)
                });
                let arrived =
                    || first_missing(downloads.map(|(operation, _)| arrived(operation)).min().unwrap_or(0));
                // A sink never receives incomplete chunks.
                let chunks = accepted(index).unwrap_or_else(arrived);
                let shape = hosts[index].shape;
                let items = if shape.per_chunk { chunks } else { start(chunks) };
                let elements = items.saturating_mul(shape.per_item);
                Complete { host: plan.hosts[index].name, chunks: chunks as u64, items, elements }
            })
            .collect()
    }
}

/// The hosts that a run writes, in the order in which it says how far each is [complete](Totals::complete).
pub(crate) fn outputs(plan: &Plan) -> impl Iterator<Item = usize> {
    let writes = |(index, host): (usize, &HostPlan)| host.writes.then_some(index);
    plan.hosts.iter().enumerate().filter_map(writes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::plan::OperationPlan;
    use crate::engine::arguments::HostSource;
    use crate::engine::arguments::shape::{Edge, Shape, Size};

    const fn download(host: usize, conditional: bool) -> OperationPlan {
        OperationPlan {
            stage: 0,
            stream: 0,
            text: "copy dx -> y",
            kind: OperationKind::Download { host, buffer: 0 },
            conditional,
            repeat: None,
            accesses: &[],
            line: 1,
            column: 1,
        }
    }

    const fn output(name: &'static str) -> HostPlan {
        HostPlan { name, reads: false, writes: true, halo: false, line: 1, column: 1 }
    }

    /// Operations 0 and 1 write `y`; operation 2, which chunks may leave out, writes `z`.
    static PLAN: Plan = Plan {
        pipeline: "P",
        file: "src/main.rs",
        line: 1,
        column: 1,
        streams: &[],
        stages: &["store"],
        hosts: &[output("y"), output("z")],
        buffers: &[],
        operations: &[download(0, false), download(0, false), download(1, true)],
        events: &[],
        waits: &[],
    };

    /// How far `y` and `z` are complete, in chunks and in elements. Chunks have 10 items, and items 2
    /// elements.
    fn complete(totals: &Totals, lacking: usize) -> [(u64, usize); 2] {
        let shape = Shape::new("y", Size::of::<f32>(2), Edge::Clamp).unwrap();
        let hosts = [(); 2].map(|()| HostArgument { source: HostSource::unknown(), shape });
        let complete =
            totals.complete(&PLAN, &hosts, |chunks| chunks.min(lacking), |chunks| 10 * chunks, |_| None);
        [0, 1].map(|host| (complete[host].chunks, complete[host].elements))
    }

    #[test]
    fn an_output_is_complete_as_far_as_the_slowest_of_its_downloads() {
        let mut totals = Totals::default();
        for operation in [0, 1, 2, 0, 1, 2, 0] {
            totals.downloaded(operation);
        }
        assert_eq!(complete(&totals, usize::MAX), [(0, 0); 2], "nothing is known to have arrived");
        let mut over = totals.clone();
        over.all_arrived();
        assert_eq!(complete(&over, usize::MAX), [(2, 40), (0, 0)]);
        assert_eq!(complete(&over, 1), [(1, 20), (0, 0)], "a function has failed at the second chunk");
        totals.note_arrivals(|operation| [3, 1, 2][operation]);
        assert_eq!(complete(&totals, usize::MAX), [(1, 20), (0, 0)]);
    }

    #[test]
    fn what_was_moved_adds_up() {
        let moved = |to_device, to_host, staged| Totals { to_device, to_host, staged, ..Totals::default() };
        let mut totals = moved(3, 5, 7);
        totals.add(&moved(10, 20, 40));
        let mut report = Report::of_nothing();
        totals.tell(&mut report);
        assert_eq!((report.bytes_to_device, report.bytes_to_host, report.bytes_staged), (13, 25, 47));
    }
}
