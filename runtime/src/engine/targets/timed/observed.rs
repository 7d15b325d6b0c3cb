//! [`Observed`]: which streams of a profile need another one that notes when their copies end.

use crate::base::plan::{OperationKind, OperationPlan, Plan};
use crate::engine::chunks::costs::HARDWARE_QUEUES;
use crate::engine::streams::Streams;
use crate::observe::timeline::Engine;

/// Which observer notes what. More streams than the hardware has queues would wait for each other, observers too: where there are
/// not enough for each stream that copies, those that copy the same way in one place of the plan have one together, and where
/// that is not enough either, several of these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observed {
    /// What copies in the order in which it was enqueued: by stream, by its number among the pipeline's, to the device and to the
    /// host.
    groups: Vec<[Option<usize>; 2]>,
    /// How many of them there are.
    pub(crate) group_count: usize,
    /// How many observers there are.
    pub(crate) count: usize,
}

impl Observed {
    /// `slots`: those of the run. `spread`: whether stages whose streams a run chooses have one for each slot.
    pub(crate) fn new(plan: &Plan, streams: &Streams, slots: usize, spread: bool) -> Self {
        let most = HARDWARE_QUEUES.saturating_sub(streams.used(plan, slots, spread)).max(1);
        let each = Self::of(plan, streams, slots.min(streams.slots()), spread, true);
        let mut found = if each.group_count <= most {
            each
        } else {
            Self::of(plan, streams, slots.min(streams.slots()), spread, false)
        };
        found.count = found.group_count.min(most);
        found
    }

    /// `each`: a group for each stream; else one for each of the plan's and each way.
    fn of(plan: &Plan, streams: &Streams, slots: usize, spread: bool, each: bool) -> Self {
        let mut groups = vec![[None; 2]; streams.all().len()];
        let mut group_count = 0;
        for (index, stream) in plan.streams.iter().enumerate() {
            let on_stream = |operation: &&OperationPlan| operation.stream == index;
            let copies = |to_host: bool| {
                let mut operations = plan.operations.iter().filter(on_stream);
                operations.any(|operation| way(operation.kind) == Some(to_host))
            };
            let ways = [copies(false), copies(true)];
            let mut shared = [None; 2];
            for slot in 0..if stream.is_per_slot(spread) { slots } else { 1 } {
                if each {
                    shared = [None; 2];
                }
                for way in (0..2).filter(|&way| ways[way]) {
                    let other = shared[1 - way].filter(|_| each);
                    let group = *shared[way].get_or_insert(other.unwrap_or(group_count));
                    group_count = group_count.max(group + 1);
                }
                groups[streams.number(index, slot)] = shared;
            }
        }
        Self { groups, group_count, count: 0 }
    }

    /// Where an engine's work on a stream belongs, if that is observed.
    pub(crate) fn group(&self, stream: usize, engine: Engine) -> Option<usize> {
        self.groups.get(stream)?[usize::from(engine == Engine::ToHost)]
    }

    /// The observer for that.
    pub(crate) fn observer(&self, stream: usize, engine: Engine) -> Option<usize> {
        self.group(stream, engine)?.checked_rem(self.count)
    }

    /// Whether an observer may be late: it has something else to wait for before.
    pub(crate) fn is_shared(&self) -> bool {
        self.count < self.group_count
    }
}

/// Whether an engine copies to the host (`true`) or to the device, if one does.
pub(crate) fn way(kind: OperationKind) -> Option<bool> {
    match kind {
        OperationKind::Upload { .. } | OperationKind::CopyFromScratch { .. } => Some(false),
        OperationKind::Download { .. } | OperationKind::CopyToScratch { .. } => Some(true),
        _ => None,
    }
}
