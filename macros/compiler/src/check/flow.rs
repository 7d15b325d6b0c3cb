//! The data flow of one chunk: nothing is read before it is written, and nothing is done for nothing.

use proc_macro2::Ident;

use crate::diagnostics::Diagnostics;
use crate::resolve::{Buffer, BufferId, BufferKind, Mode, Operation, Program, StageId};

pub(super) fn check(program: &Program, diagnostics: &mut Diagnostics) {
    reads_before_writes(program, diagnostics);
    residents(program, diagnostics);
    outputs(program, diagnostics);
    dead(program, diagnostics);
}

fn reads_before_writes(program: &Program, diagnostics: &mut Diagnostics) {
    // What `run` gets as an argument is there from the start.
    let mut written: Vec<bool> = program.buffers.iter().map(Buffer::is_shared).collect();
    let mut reported = vec![false; program.buffers.len()];
    for (at, operation) in program.operations.iter().enumerate() {
        let uses = operation.buffers();
        for usage in &uses {
            let index = usage.buffer.0;
            if usage.mode.reads() && !written[index] && !reported[index] {
                reported[index] = true;
                let name = &program.buffers[index].name;
                let stage = &program.stages[operation.stage.0].name;
                let error = diagnostics.error(
                    "TW0202",
                    usage.at,
                    format!("buffer `{name}` is read before any stage writes it"),
                );
                error.note(format!("`{stage}` is its first use"));
                match first_write_after(program, at, usage.buffer) {
                    Some(later) if later.stage != operation.stage => {
                        let (writer, line) = (&program.stages[later.stage.0].name, later.at.start().line);
                        error.note(format!("`{writer}` writes it, at line {line}"));
                        error.help(format!("move stage `{stage}` below `{writer}`"));
                    }
                    _ if usage.mode == Mode::ReadWrite => {
                        error.help(format!(
                            "copy data in first; if the kernel writes all of it without reading, declare the kernel's parameter `Out<[T]>` and write `out {name}`"
                        ));
                    }
                    _ => {
                        error.help("copy data in first, or let a kernel write it with `out`");
                    }
                }
            }
        }
        // After the whole operation: its arguments are read while it runs.
        for usage in uses.iter().filter(|usage| usage.mode.writes()) {
            written[usage.buffer.0] = true;
        }
    }
}

/// Nobody writes what is resident, and somebody writes what is carried.
fn residents(program: &Program, diagnostics: &mut Diagnostics) {
    for operation in &program.operations {
        for usage in operation.buffers() {
            let Buffer { name, kind, .. } = &program.buffers[usage.buffer.0];
            if usage.mode.writes() && matches!(kind, BufferKind::Resident) {
                diagnostics
                    .error("TW0210", usage.at, format!("`{name}` is `resident`, but this writes it"))
                    .note(format!("declared at line {}", name.span().start().line))
                    .help(format!("declare it `carry {name}`, which `run` gives back"));
            }
        }
    }
    for (index, Buffer { name, kind, .. }) in program.buffers.iter().enumerate() {
        let modes = modes_of(program, BufferId(index));
        let written = modes.iter().any(|mode| mode.writes());
        if matches!(kind, BufferKind::Carry { .. }) && !modes.is_empty() && !written && !is_silenced(name) {
            diagnostics
                .warning("TW0211", name, format!("`{name}` is a `carry`, but no stage writes it"))
                .help(format!("declare it `resident {name}`, or rename it `_{name}`"));
        }
    }
}

/// The first operation after `at` that writes the buffer.
fn first_write_after(program: &Program, at: usize, buffer: BufferId) -> Option<&Operation> {
    let writes = |operation: &&Operation| {
        operation.buffers().iter().any(|usage| usage.buffer == buffer && usage.mode.writes())
    };
    program.operations[at + 1..].iter().find(writes)
}

/// The one buffer that is written and never read, if there is just one: what an output was meant to get.
fn unread_result(program: &Program) -> Option<&Ident> {
    let mut unread = program.buffers.iter().enumerate().filter(|(index, _)| {
        let modes = modes_of(program, BufferId(*index));
        !program.buffers[*index].is_shared() && !modes.is_empty() && modes.iter().all(|mode| !mode.reads())
    });
    let (_, buffer) = unread.next()?;
    unread.next().is_none().then_some(&buffer.name)
}

/// How the operations use a buffer.
fn modes_of(program: &Program, buffer: BufferId) -> Vec<Mode> {
    let uses = program.operations.iter().flat_map(|operation| operation.buffers());
    uses.filter(|usage| usage.buffer == buffer).map(|usage| usage.mode).collect()
}

fn outputs(program: &Program, diagnostics: &mut Diagnostics) {
    for (index, host) in program.hosts.iter().enumerate() {
        let used = |wanted: fn(Mode) -> bool| {
            program.operations.iter().filter_map(|o| o.host()).any(|(id, mode)| id.0 == index && wanted(mode))
        };
        let (name, keyword) = (&host.name, host.kind.keyword());
        if host.kind.writes() && !used(Mode::writes) {
            let error = diagnostics.error(
                "TW0203",
                name,
                format!("`{name}` is an `{keyword}`, but no stage writes it"),
            );
            let result = unread_result(program).map_or_else(|| "result".to_owned(), ToString::to_string);
            let or = if host.kind.reads() { ", or declare it `input`" } else { "" };
            error.help(format!("copy a result to it: `copy {result} -> {name};`{or}"));
        } else if host.kind.reads() && !used(Mode::reads) && !is_silenced(name) {
            let warning = diagnostics.warning(
                "TW0207",
                name,
                format!("`{name}` is an `{keyword}`, but no stage reads it"),
            );
            if host.kind.writes() {
                warning.help(format!("declare it `output {name}`, or rename it `_{name}`"));
            } else {
                warning.help(format!("remove it, or rename it `_{name}`"));
            }
        }
    }
}

fn dead(program: &Program, diagnostics: &mut Diagnostics) {
    for (index, buffer) in program.buffers.iter().enumerate() {
        let name = &buffer.name;
        let modes = modes_of(program, BufferId(index));
        // What is carried is read by `run`, when it gives it back.
        let given_back = matches!(buffer.kind, BufferKind::Carry { .. }) && !modes.is_empty();
        if is_silenced(name) || given_back || modes.iter().any(|mode| mode.reads()) {
            continue;
        }
        let (fact, note) = if modes.is_empty() {
            ("is never used", "its allocation is still generated")
        } else {
            ("is written but never read", "its allocation and what writes it are still generated")
        };
        diagnostics
            .warning("TW0205", name, format!("buffer `{name}` {fact}"))
            .note(note)
            .help(format!("remove it, or rename it `_{name}`"));
    }
    for (index, stage) in program.stages.iter().enumerate() {
        if !program.operations.iter().any(|operation| operation.stage == StageId(index))
            && !is_silenced(&stage.name)
        {
            diagnostics
                .warning("TW0208", &stage.name, format!("stage `{}` does nothing", stage.name))
                .help("remove it, or give it an operation");
        }
    }
    for (index, stream) in program.streams.iter().enumerate() {
        if stream.declared
            && !program.operations.iter().any(|operation| operation.stream.0 == index)
            && !is_silenced(&stream.name)
        {
            diagnostics
                .warning("TW0209", &stream.name, format!("stream `{}` has no operations", stream.name))
                .note("it is still created")
                .help(format!("remove it, or put a stage on it: `stage name on {} {{ … }}`", stream.name));
        }
    }
}

/// A leading `_` says that a name is unused on purpose.
fn is_silenced(name: &Ident) -> bool {
    name.to_string().starts_with('_')
}
