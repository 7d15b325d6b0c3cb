//! Streams: work that is serialised although it should overlap, and callbacks that follow nothing.

use proc_macro2::Ident;

use super::constant::value;
use crate::diagnostics::Diagnostics;
use crate::resolve::{BufferKind, Mark, MarkKind, OperationKind, Priority, Program, Stream};

/// Streams that a GPU serves at the same time unless `CUDA_DEVICE_MAX_CONNECTIONS` says otherwise.
pub const HARDWARE_QUEUES: u128 = 8;

/// Ring slots of a pipeline that does not declare a depth.
pub const AUTO_DEPTH: u128 = 3;

pub(super) fn check(program: &Program, diagnostics: &mut Diagnostics) {
    null(program, diagnostics);
    hardware_queues(program, diagnostics);
    priorities(program, diagnostics);
    callbacks(program, diagnostics);
    // Without a ring, nothing waits for a slot.
    let has_ring = program
        .buffers
        .iter()
        .any(|buffer| matches!(buffer.kind, BufferKind::Ring | BufferKind::HostScratch));
    // Chunks on one stream run one after another with any number of slots, as frames may.
    let overlaps = program.streams.len() > 1 || program.streams.iter().any(|stream| stream.per_slot);
    let loses = has_ring && overlaps;
    if let Some(slots) = program.depth.given().filter(|slots| loses && value(slots) == Some(1)) {
        diagnostics
            .warning("TW0715", slots, "with one ring slot no two chunks overlap")
            .note("each chunk's copies wait until the chunk before has left the slot")
            .help("write `depth = 3;`: one chunk comes in, one is computed on, one goes out");
    }
}

fn null(program: &Program, diagnostics: &mut Diagnostics) {
    let mut nulls = program.streams.iter().filter(|stream| stream.null);
    let Some(first) = nulls.next() else { return };
    let (name, line) = (&first.name, first.name.span().start().line);
    diagnostics
        .warning("TW0709", name, format!("stream `{name}` is the default stream, which serialises"))
        .note("its work waits for that of every blocking stream of the process, and they wait for it")
        .help(format!("write `stream {name};`"));
    for second in nulls {
        diagnostics
            .error(
                "TW0710",
                &second.name,
                format!("`{name}` and `{}` are both the default stream", second.name),
            )
            .note(format!("`{name}` is declared at line {line}; there is one default stream"))
            .help(format!("put the stages on `{name}`, or write `stream {};`", second.name));
    }
}

/// Streams share the hardware's queues if there are more streams than queues.
fn hardware_queues(program: &Program, diagnostics: &mut Diagnostics) {
    let depth = program.depth.given().map_or(Some(AUTO_DEPTH), value);
    let used = |index: usize| program.operations.iter().any(|operation| operation.stream.0 == index);
    let count = |stream: &Stream| if stream.per_slot { depth.unwrap_or(1) } else { 1 };
    let streams = program.streams.iter().enumerate().filter(|(index, _)| used(*index));
    let mut all = 0_u128;
    let mut over = None;
    for (_, stream) in streams {
        all = all.saturating_add(count(stream));
        if all > HARDWARE_QUEUES {
            over.get_or_insert(&stream.name);
        }
    }
    if let Some(name) = over {
        diagnostics
            .warning("TW0713", name, format!("the pipeline has {all} streams, but a GPU has {HARDWARE_QUEUES} queues for them"))
            .note("streams that share a queue may wait for each other")
            .help("put stages that need not overlap on one stream, or set `CUDA_DEVICE_MAX_CONNECTIONS` before the process starts");
    }
}

/// A priority says which of several streams goes first.
fn priorities(program: &Program, diagnostics: &mut Diagnostics) {
    let mut declared = program.streams.iter().filter(|stream| stream.declared);
    let Some(first) = declared.next() else { return };
    let mut others = 0;
    for other in declared {
        if other.priority != first.priority {
            return;
        }
        others += 1;
    }
    if others > 0
        && first.priority != Priority::Default
        && program.streams.iter().all(|stream| stream.declared)
    {
        diagnostics
            .warning("TW0714", &first.name, "all streams have the same priority")
            .note("a priority says which of several streams goes first")
            .help("leave the priorities out, or give them to the streams that are to go first");
    }
}

// Note 6: a `then` is ordered by its stream alone.
/// A callback is called after the operations before it on its stream, or those that it waits for by hand.
fn callbacks(program: &Program, diagnostics: &mut Diagnostics) {
    for (index, operation) in program.operations.iter().enumerate() {
        if !matches!(operation.kind, OperationKind::Then(_)) {
            continue;
        }
        let waits = |mark: &Mark| mark.kind != MarkKind::Record && mark.operation(program) == Some(index);
        if program.operations[..index].iter().any(|earlier| earlier.stream == operation.stream)
            || program.sync.marks().iter().any(waits)
        {
            continue;
        }
        let stream = &program.streams[operation.stream.0].name;
        diagnostics
            .warning(
                "TW0212",
                Ident::new("then", operation.at),
                "nothing stands before this `then` on its stream",
            )
            .note(format!("stream `{stream}` calls it at once, without waiting for other streams"))
            .help("move it to the end of the stage that it must follow");
    }
}
