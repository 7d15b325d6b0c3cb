//! The depth of a ring that is `auto`, as far as it follows from the plan alone.

use super::{OperationKind, Plan};

/// The fewest slots of a ring in which anything overlaps. With two slots for two engines, each engine would
/// wait for the other to hand over. On an H200 a depth of 2 lost 1.5 to 3 % where a kernel takes as long as
/// the only copy.
const LEAST_DEPTH: usize = 3;

/// The number of ring slots for a pipeline whose depth is `auto`: the number of engines that can be at work
/// at the same time, each on a chunk of its own.
///
/// The engines are the one for copies in, the multiprocessors, the one for copies out, the links to other
/// ranks and the CPU's functions, as far as the pipeline has work for them on streams of their own. On an H200 more slots were
/// not faster, with any chunk worth taking.
pub(crate) fn auto_depth(plan: &Plan) -> usize {
    let mut engines = [false; 5];
    let mut streams = vec![false; plan.streams.len()];
    for operation in plan.operations {
        let engine = match operation.kind {
            OperationKind::Upload { .. } | OperationKind::CopyFromScratch { .. } => 0,
            OperationKind::Launch { .. }
            | OperationKind::Call { .. }
            | OperationKind::Fill { .. }
            | OperationKind::CopyOnDevice { .. } => 1,
            OperationKind::Download { .. } | OperationKind::CopyToScratch { .. } => 2,
            OperationKind::Host { .. } => 3,
            OperationKind::Collective { .. } => 4,
            // No stream waits for a callback.
            OperationKind::Then => continue,
        };
        engines[engine] = true;
        streams[operation.stream] = true;
    }
    let count = |used: &[bool]| used.iter().filter(|&&used| used).count();
    let by_slot = plan.streams.iter().any(|stream| stream.is_per_slot(false));
    let streams = if by_slot { usize::MAX } else { count(&streams) };
    let at_work = count(&engines).min(streams);
    if at_work > 1 { at_work.max(LEAST_DEPTH) } else { 1 }
}
