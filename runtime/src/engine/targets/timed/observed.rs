//! [`Observed`]: the streams of a profile that need another stream to note when their copies end.

use crate::base::plan::{OperationKind, OperationPlan, Plan};
use crate::engine::chunks::costs::HARDWARE_QUEUES;
use crate::engine::streams::Streams;
use crate::observe::timeline::Engine;

/// The assignment of observers. More streams than the hardware has queues would wait for each other, and
/// observers are streams, too: if there are not enough for each stream that copies, the copies of one
/// direction at one place of the plan share an observer, and if that is not enough either, several of these
/// groups share one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observed {
    /// Groups of copies that are done in the order of enqueuing: by stream number of the pipeline, to the
    /// device and to the host.
    groups: Vec<[Option<usize>; 2]>,
    /// The number of groups.
    pub(crate) group_count: usize,
    /// The number of observers.
    pub(crate) count: usize,
}

impl Observed {
    /// `slots`: the slots of the run. `spread`: whether stages whose streams a run chooses have one for each
    /// slot.
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

    /// `each`: a group for each stream; otherwise one for each of the plan's streams and each direction.
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

    /// The group of an engine's work on a stream, if it is observed.
    pub(crate) fn group(&self, stream: usize, engine: Engine) -> Option<usize> {
        self.groups.get(stream)?[usize::from(engine == Engine::ToHost)]
    }

    /// The observer of that group.
    pub(crate) fn observer(&self, stream: usize, engine: Engine) -> Option<usize> {
        self.group(stream, engine)?.checked_rem(self.count)
    }

    /// Whether an observer may be late, because it waits for something else before.
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
