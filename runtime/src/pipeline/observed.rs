//! [`Observed`]: which streams of a profile need another one that notes when their copies end.

use super::HARDWARE_QUEUES;
use super::streams::Streams;
use crate::plan::{BufferKind, BufferPlan, OperationKind, Plan};
use crate::timeline::Engine;

/// Which observer notes what. More streams than the hardware has queues would wait for each other, observers too: where there are
/// not enough for each stream that copies, each direction has one, or both have the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Observed {
    /// By stream, by its number among the pipeline's.
    observers: Vec<Option<usize>>,
    /// Whether they are of a direction, not of a stream.
    by_direction: bool,
    /// How many there are.
    pub(super) count: usize,
}

impl Observed {
    /// `slots`: those of the run. `spread`: whether stages whose streams a run chooses have one for each slot.
    pub(super) fn new(plan: &Plan, streams: &Streams, slots: usize, spread: bool) -> Self {
        let mapped = is_mapped(plan);
        let mut observers = vec![None; streams.all().len()];
        let mut count = 0;
        for (index, stream) in plan.streams.iter().enumerate() {
            let on_stream = |operation: &&crate::plan::OperationPlan| operation.stream == index;
            let mut operations = plan.operations.iter().filter(on_stream);
            if !operations.any(|operation| mapped || is_copy(operation.kind)) {
                continue;
            }
            for slot in 0..if stream.is_per_slot(spread) { slots.min(streams.slots()) } else { 1 } {
                observers[streams.number(index, slot)] = Some(count);
                count += 1;
            }
        }
        let most = HARDWARE_QUEUES.saturating_sub(streams.used(plan, slots, spread)).max(1);
        let by_direction = count > most;
        Self { observers, by_direction, count: if by_direction { most.min(2) } else { count } }
    }

    /// The observer for what an engine does on a stream, if there is one.
    pub(super) fn observer(&self, stream: usize, engine: Engine) -> Option<usize> {
        let own = self.observers.get(stream).copied().flatten()?;
        Some(if !self.by_direction { own } else { usize::from(engine == Engine::ToHost).min(self.count - 1) })
    }

    /// Whether an observer notes what several streams do, so that it may be late.
    pub(super) fn is_shared(&self) -> bool {
        self.by_direction
    }
}

/// Whether kernels work on the host's memory, as engines that copy do.
pub(super) fn is_mapped(plan: &Plan) -> bool {
    let is_mapped = |buffer: &BufferPlan| matches!(buffer.kind, BufferKind::InPlace { mapped: true, .. });
    plan.buffers.iter().any(is_mapped)
}

/// Whether an engine that copies carries it out.
pub(super) fn is_copy(kind: OperationKind) -> bool {
    matches!(
        kind,
        OperationKind::Upload { .. }
            | OperationKind::Download { .. }
            | OperationKind::CopyToScratch { .. }
            | OperationKind::CopyFromScratch { .. }
    )
}
