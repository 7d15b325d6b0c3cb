//! The data flow of one chunk: nothing is read before it is written, and no work is wasted.

use std::ops::Range;

use proc_macro2::Ident;

use super::constant::value;
use crate::diagnostics::{Diagnostics, similar};
use crate::resolve::{
    BlockId, BlockKind, Buffer, BufferId, BufferKind, BufferUse, CopyNames, HostKind, Mode, Operand,
    Operands, Operation, OperationKind, Program, StageId,
};

pub(super) fn check(program: &Program, diagnostics: &mut Diagnostics) {
    reads_before_writes(program, diagnostics);
    overwritten(program, diagnostics);
    residents(program, diagnostics);
    in_place_inputs(program, diagnostics);
    outputs(program, diagnostics);
    dead(program, diagnostics);
}

/// Reports reads of buffers that are not known to be written, each buffer once.
struct Reads<'a> {
    program: &'a Program,
    diagnostics: &'a mut Diagnostics,
    reported: Vec<bool>,
}

fn reads_before_writes(program: &Program, diagnostics: &mut Diagnostics) {
    // The data that `run` gets as arguments are there from the start.
    let is_there = |buffer: &Buffer| buffer.is_shared() || buffer.in_place().is_some_and(HostKind::reads);
    let mut written: Vec<bool> = program.buffers.iter().map(is_there).collect();
    let reported = vec![false; program.buffers.len()];
    Reads { program, diagnostics, reported }.walk(0..program.operations.len(), 0, &mut written);
}

impl Reads<'_> {
    /// Follows the operations in `range`, which all stand in the same `depth` outer blocks.
    fn walk(&mut self, range: Range<usize>, depth: usize, written: &mut Vec<bool>) {
        let program = self.program;
        let block_of = |at: usize| program.within(program.operations[at].block).get(depth).copied();
        let end_of = |at: usize| {
            let inside = |&next: &usize| next < range.end && block_of(next) == block_of(at);
            (at..).take_while(inside).last().map_or(at, |last| last + 1)
        };
        let mut at = range.start;
        while at < range.end {
            let Some(BlockId(block)) = block_of(at) else {
                self.operation(at, written);
                at += 1;
                continue;
            };
            let end = end_of(at);
            let mut taken = written.clone();
            self.walk(at..end, depth + 1, &mut taken);
            at = end;
            match &program.blocks[block].kind {
                BlockKind::Repeat(times) if value(times).is_some_and(|times| times > 0) => *written = taken,
                // They may not run at all.
                BlockKind::Repeat(_) | BlockKind::Else(_) => {}
                BlockKind::If(_) => {
                    let otherwise = (at < range.end).then(|| block_of(at)).flatten().filter(|&BlockId(next)| {
                        matches!(program.blocks[next].kind, BlockKind::Else(of) if of == BlockId(block))
                    });
                    if otherwise.is_some() {
                        let end = end_of(at);
                        let mut other = written.clone();
                        self.walk(at..end, depth + 1, &mut other);
                        at = end;
                        *written = taken.iter().zip(&other).map(|(a, b)| *a && *b).collect();
                    }
                }
            }
        }
    }

    fn operation(&mut self, at: usize, written: &mut [bool]) {
        let uses = self.program.operations[at].buffers();
        for usage in &uses {
            let index = usage.buffer.0;
            if usage.mode.reads() && !written[index] && !self.reported[index] {
                self.reported[index] = true;
                // An output that nothing writes is reported where it is declared.
                let modes = modes_of(self.program, usage.buffer);
                if self.program.buffers[index].in_place().is_none() || modes.iter().any(|mode| mode.writes())
                {
                    self.report(at, usage);
                }
            }
        }
        // These count as written after the whole operation, which reads its arguments while it runs.
        for usage in uses.iter().filter(|usage| usage.mode.writes()) {
            written[usage.buffer.0] = true;
        }
    }

    fn report(&mut self, at: usize, usage: &BufferUse<'_>) {
        let program = self.program;
        let operation = &program.operations[at];
        let name = &program.buffers[usage.buffer.0].name;
        let stage = &program.stages[operation.stage.0].name;
        let writes = |operation: &&Operation| {
            operation.buffers().iter().any(|other| other.buffer == usage.buffer && other.mode.writes())
        };
        if let Some(earlier) = program.operations[..at].iter().find(writes) {
            let outermost = program.within(earlier.block).first().map(|block| &program.blocks[block.0].kind);
            let block = match outermost {
                Some(BlockKind::Repeat(_)) => "a `repeat`",
                Some(BlockKind::Else(_)) => "an `else`",
                _ => "an `if`",
            };
            let error = self.diagnostics.error(
                "TW0202",
                usage.at,
                format!("buffer `{name}` is read where it may not have been written"),
            );
            error.note(format!("it is written in {block}, at line {}", earlier.at.start().line));
            match block {
                "a `repeat`" => error.help("write it before the `repeat`, which may run 0 times"),
                "an `else`" => error.help("write it in the `if` too, or before it"),
                _ => error.help("write it in an `else` too, or before the `if`"),
            };
            return;
        }
        let error = self.diagnostics.error(
            "TW0202",
            usage.at,
            format!("buffer `{name}` is read before any stage writes it"),
        );
        error.note(format!("`{stage}` is its first use"));
        // An operation that also reads the buffer would have the same problem, so only writers are looked
        // for.
        let fills = |operation: &&Operation| {
            operation.buffers().iter().any(|other| other.buffer == usage.buffer && other.mode == Mode::Write)
        };
        match program.operations[at + 1..].iter().find(fills) {
            Some(later) if later.stage != operation.stage => {
                let (writer, line) = (&program.stages[later.stage.0].name, later.at.start().line);
                error.note(format!("`{writer}` writes it, at line {line}"));
                error.help(format!("move stage `{stage}` below `{writer}`"));
            }
            Some(later) => {
                error.note(format!("`{}` writes it, at line {}", later.text, later.at.start().line));
                error.help(format!("move `{}` above `{}`", later.text, operation.text));
            }
            _ if program.buffers[usage.buffer.0].in_place().is_some() => {
                error.help(format!(
                    "declare it `inout {name}`, or let a kernel write all of it first with `out {name}`"
                ));
            }
            _ if matches!(operation.kind, OperationKind::Collective(_)) => {
                if let Some(to) = partly_written(operation).filter(|to| to.buffer == usage.buffer) {
                    error.note(format!(
                        "a part of `{}` is written here, and the rest keeps what it held",
                        to.name
                    ));
                }
                error.help("copy data in first, or `fill` it");
            }
            _ if usage.mode == Mode::ReadWrite => {
                error.help(match program.buffers[usage.buffer.0].is_on_device() {
                    true => "copy data in first, or `fill` it",
                    false => "copy data in first",
                });
                error.help(match operation.kind {
                    OperationKind::Launch(_) => format!(
                        "if the kernel writes all of it and reads none, pass `out {name}`, for a parameter `Out<[T]>`"
                    ),
                    _ => format!("if this writes all of it and reads none, pass `out {name}`"),
                });
            }
            _ => {
                error.help("copy data in first, or let a kernel write it with `out`");
            }
        }
    }
}

/// The destination of a collective, if it is a part of a buffer.
fn partly_written(operation: &Operation) -> Option<&Operand> {
    match &operation.kind {
        OperationKind::Collective(collective) => match &collective.data {
            Operands::Two(_, to) => Some(to).filter(|to| to.range.is_some()),
            Operands::None | Operands::One(_) => None,
        },
        _ => None,
    }
}

/// Writes that nothing has read when the next write replaces all of the buffer.
fn overwritten(program: &Program, diagnostics: &mut Diagnostics) {
    for (index, buffer) in program.buffers.iter().enumerate() {
        if is_silenced(&buffer.name) || buffer.is_shared() {
            continue;
        }
        let mut unread: Option<&Operation> = None;
        for operation in &program.operations {
            for usage in operation.buffers().iter().filter(|usage| usage.buffer.0 == index) {
                if let (Mode::Write, Some(first), None) = (usage.mode, unread, operation.block) {
                    let line = first.at.start().line;
                    diagnostics
                        .warning(
                            "TW0213",
                            usage.at,
                            format!("`{}` is overwritten before it is read", buffer.name),
                        )
                        .note(format!(
                            "`{}` at line {line} writes it, and nothing reads that value",
                            first.text
                        ))
                        .help("remove one of the two, or read it in between");
                }
                unread = (usage.mode == Mode::Write && operation.block.is_none()).then_some(operation);
            }
        }
    }
}

/// No operation writes a `resident`, and some operation writes each `carry`.
fn residents(program: &Program, diagnostics: &mut Diagnostics) {
    for operation in &program.operations {
        for usage in operation.buffers() {
            let Buffer { name, kind, .. } = &program.buffers[usage.buffer.0];
            if usage.mode.writes() && matches!(kind, BufferKind::Resident { .. }) {
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
                .help(format!("if a kernel is to write it, pass `&mut {name}`"))
                .help(format!("if none is, declare it `resident {name}`, or rename it `_{name}`"));
        }
    }
}

/// The one buffer that is written and never read, if there is just one: probably the source of an output.
fn unread_result(program: &Program) -> Option<&Ident> {
    let mut unread = program.buffers.iter().enumerate().filter(|(index, _)| {
        let modes = modes_of(program, BufferId(*index));
        !is_argument(&program.buffers[*index]) && !modes.is_empty() && modes.iter().all(|mode| !mode.reads())
    });
    let (_, buffer) = unread.next()?;
    unread.next().is_none().then_some(&buffer.name)
}

/// The copy that was probably meant to write an argument: its destination is not a declared name, so it is a
/// new device buffer, which nothing reads. A destination with a similar name is preferred; otherwise it must
/// be the only one.
fn copy_to_new_buffer<'a>(program: &'a Program, argument: &Ident) -> Option<&'a CopyNames> {
    let lost = |operation: &'a Operation| match &operation.kind {
        OperationKind::CopyBuffer { to, names, .. } => {
            let name = &program.buffers[to.0].name;
            let is_declared_here = name.span().start() == names.to.span().start();
            let is_read = modes_of(program, *to).iter().any(|mode| mode.reads());
            (is_declared_here && !is_read && !is_silenced(name)).then_some(names)
        }
        _ => None,
    };
    let copies: Vec<_> = program.operations.iter().filter_map(lost).collect();
    let destinations: Vec<_> = copies.iter().map(|copy| copy.to.to_string()).collect();
    match similar(&argument.to_string(), destinations.iter().map(String::as_str)) {
        Some(meant) => copies.into_iter().find(|copy| copy.to == meant),
        None => copies.first().copied().filter(|_| copies.len() == 1),
    }
}

/// How the operations use a buffer.
fn modes_of(program: &Program, buffer: BufferId) -> Vec<Mode> {
    let uses = program.operations.iter().flat_map(|operation| operation.buffers());
    uses.filter(|usage| usage.buffer == buffer).map(|usage| usage.mode).collect()
}

/// No operation writes an `input` that is used in place.
fn in_place_inputs(program: &Program, diagnostics: &mut Diagnostics) {
    for operation in &program.operations {
        for usage in operation.buffers() {
            let buffer = &program.buffers[usage.buffer.0];
            if usage.mode.writes() && buffer.in_place() == Some(HostKind::Input) {
                let name = &buffer.name;
                diagnostics
                    .error("TW0204", usage.at, format!("`{name}` is an `input`, but this writes it"))
                    .note(format!("declared at line {}", name.span().start().line))
                    .help(format!("declare it `inout {name}`, or write to an `output`"));
            }
        }
    }
}

/// Outputs are written, inputs are read.
fn outputs(program: &Program, diagnostics: &mut Diagnostics) {
    for (index, host) in program.hosts.iter().enumerate() {
        let uses = program.operations.iter().filter_map(|operation| operation.host());
        let modes: Vec<_> = uses.filter(|(id, _)| id.0 == index).map(|(_, mode)| mode).collect();
        argument(program, &host.name, host.kind, &modes, "copy", diagnostics);
    }
    for (index, buffer) in program.buffers.iter().enumerate() {
        if let Some(kind) = buffer.in_place() {
            let modes = modes_of(program, BufferId(index));
            let by = if buffer.is_on_device() { "copy" } else { "out" };
            argument(program, &buffer.name, kind, &modes, by, diagnostics);
        }
    }
}

fn argument(
    program: &Program,
    name: &Ident,
    kind: HostKind,
    modes: &[Mode],
    by: &str,
    diagnostics: &mut Diagnostics,
) {
    let keyword = kind.keyword();
    let reads = modes.iter().any(|mode| mode.reads());
    if kind.writes() && !modes.iter().any(|mode| mode.writes()) {
        let error =
            diagnostics.error("TW0203", name, format!("`{name}` is an `{keyword}`, but no stage writes it"));
        let or = if kind.reads() { ", or declare it `input`" } else { "" };
        if by == "copy"
            && let Some(copy) = copy_to_new_buffer(program, name)
        {
            let CopyNames { from, to } = copy;
            error
                .note(format!(
                    "line {} has `copy {from} -> {to};`, where `{to}` is a new device buffer that nothing reads",
                    to.span().start().line
                ))
                .help(format!("copy to the `{keyword}`: `copy {from} -> {name};`{or}"));
        } else if by == "copy" {
            let result = unread_result(program).map_or_else(|| "result".to_owned(), ToString::to_string);
            error.help(format!("copy a result to it: `copy {result} -> {name};`{or}"));
        } else {
            error.help(format!("pass `out {name}` to a kernel{or}"));
        }
    } else if kind.reads() && !reads && !is_silenced(name) {
        let warning =
            diagnostics.warning("TW0207", name, format!("`{name}` is an `{keyword}`, but no stage reads it"));
        if kind.writes() {
            warning.help(format!("declare it `output {name}`, or rename it `_{name}`"));
        } else {
            warning.help(format!("remove it, or rename it `_{name}`"));
        }
    }
}

fn dead(program: &Program, diagnostics: &mut Diagnostics) {
    for (index, buffer) in program.buffers.iter().enumerate() {
        let name = &buffer.name;
        let modes = modes_of(program, BufferId(index));
        // `run` reads a `carry` when it gives it back.
        let given_back = matches!(buffer.kind, BufferKind::Carry { .. }) && !modes.is_empty();
        if is_silenced(name)
            || given_back
            || buffer.in_place().is_some()
            || modes.iter().any(|mode| mode.reads())
        {
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
    let marks = program.sync.marks();
    for (index, stage) in program.stages.iter().enumerate() {
        if !program.operations.iter().any(|operation| operation.stage == StageId(index))
            && !marks.iter().any(|mark| mark.stage == StageId(index))
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

/// Whether `run` takes it as an argument.
fn is_argument(buffer: &Buffer) -> bool {
    buffer.is_shared() || buffer.in_place().is_some()
}

/// A leading `_` says that a name is unused on purpose.
fn is_silenced(name: &Ident) -> bool {
    name.to_string().starts_with('_')
}
