//! The streams of stages that name none, between the check and the schedule.
//!
//! Each gets its own. Copies of one direction have one engine, and one stream keeps them in order. Kernels
//! have the whole GPU: the next chunk's kernel can use what the last blocks of one leave free, if it is on
//! another stream. So, for a stage that only launches kernels, the order is made for one stream for each ring
//! slot. It also holds with one stream for all slots, which only adds to it. A run uses one or the other,
//! depending on the measurements of earlier runs.

use crate::check::constant::value;
use crate::check::{AUTO_DEPTH, HARDWARE_QUEUES};
use crate::resolve::{BufferKind, Operation, OperationKind, Program, Sync};

// Note 24: one stream, or one for each slot, as runs show.
/// Lets stages of kernels that name no stream have one for each slot, in their order, as long as the hardware
/// has queues.
pub fn place(program: &mut Program) {
    // Events that are placed by hand rely on one stream. A graph has no streams, only an order.
    if !matches!(program.sync, Sync::Auto) || program.graph {
        return;
    }
    let Some(depth) = program.depth.given().map_or(Some(AUTO_DEPTH), value).filter(|&depth| depth > 1) else {
        return;
    };
    let of = |program: &Program, stream: usize, is: fn(&Program, &Operation) -> bool| {
        let mut operations =
            program.operations.iter().filter(|operation| operation.stream.0 == stream).peekable();
        operations.peek().is_some() && operations.all(|operation| is(program, operation))
    };
    let used = (0..program.streams.len()).filter(|&stream| of(program, stream, |_, _| true));
    let count = |stream: usize| if program.streams[stream].per_slot { depth } else { 1 };
    let mut queues = used.map(count).fold(0, u128::saturating_add);
    for stream in 0..program.streams.len() {
        let more = depth - 1;
        if !program.streams[stream].declared
            && queues.saturating_add(more) <= HARDWARE_QUEUES
            && of(program, stream, is_independent_launch)
        {
            program.streams[stream].per_slot = true;
            queues += more;
        }
    }
}

/// Whether it launches a kernel that neither gets anything from the chunk before nor hands anything on.
fn is_independent_launch(program: &Program, operation: &Operation) -> bool {
    let carries = || {
        let mut buffers = operation.buffers().into_iter();
        buffers.any(|usage| matches!(program.buffers[usage.buffer.0].kind, BufferKind::Carry { .. }))
    };
    matches!(operation.kind, OperationKind::Launch(_)) && !carries()
}
