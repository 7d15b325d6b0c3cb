//! The operations that may stand in `if` and `repeat`.

use proc_macro2::Ident;
use quote::ToTokens;

use super::constant::value;
use crate::diagnostics::Diagnostics;
use crate::resolve::{BlockKind, Mark, MarkKind, OperationKind, Program, Sync};

pub(super) fn check(program: &Program, diagnostics: &mut Diagnostics) {
    for block in &program.blocks {
        let BlockKind::Repeat(times) = &block.kind else { continue };
        if let Some(times_written) = value(times).filter(|&times| times < 2) {
            let (fact, help) = if times_written == 0 {
                ("`repeat 0` does nothing", "remove it, or repeat at least twice")
            } else {
                ("`repeat 1` repeats nothing", "write its operations without `repeat`")
            };
            diagnostics.warning("TW0515", times, fact).help(help);
        }
    }
    repeated(program, diagnostics);
    if let Sync::Manual(marks) = &program.sync {
        marks.iter().for_each(|mark| outside(program, mark, diagnostics));
    }
}

/// A `repeat` runs on one stream and moves no host data.
fn repeated(program: &Program, diagnostics: &mut Diagnostics) {
    for (index, operation) in program.operations.iter().enumerate() {
        let Some(repeat) = program.repeat_around(operation) else { continue };
        let before = &program.operations[..index];
        let first = before.iter().find(|earlier| program.repeat_around(earlier) == Some(repeat));
        if let Some(first) = first.filter(|first| first.stream != operation.stream) {
            let keyword = || Ident::new("_at", operation.at).into_token_stream();
            let at = operation.path().map_or_else(keyword, ToTokens::to_token_stream);
            let stream = |id: crate::resolve::StreamId| &program.streams[id.0].name;
            diagnostics
                .error(
                    "TW0511",
                    at,
                    format!(
                        "this `repeat` runs on the streams `{}` and `{}`",
                        stream(first.stream),
                        stream(operation.stream)
                    ),
                )
                .note("each turn would have to wait for the other stream's part of the turn before")
                .help("launch all of it on one stream, or put this launch in a stage of its own");
        }
        if let OperationKind::Upload { names, .. } | OperationKind::Download { names, .. } = &operation.kind {
            diagnostics
                .error("TW0609", &names.from, format!("`{}` stands in a `repeat`", operation.text))
                .note("each turn would copy the same items of the same chunk")
                .help("move the copy out of the `repeat`");
        }
    }
}

/// Records and waits stand outside of blocks, since every chunk has them.
fn outside(program: &Program, mark: &Mark, diagnostics: &mut Diagnostics) {
    let Some(&outermost) = program.within(mark.block).first() else { return };
    let block = match program.blocks[outermost.0].kind {
        BlockKind::If(_) => "an `if`",
        BlockKind::Else(_) => "an `else`",
        BlockKind::Repeat(_) => "a `repeat`",
    };
    let (does, stand) = match mark.kind {
        MarkKind::Record => ("recorded", "after"),
        MarkKind::Wait(_) => ("waited for", "before"),
    };
    let event = &mark.event;
    diagnostics
        .error("TW0811", event, format!("`{event}` is {does} in {block}"))
        .note("every chunk records and waits for the same events, so that none waits for an older chunk's")
        .help(format!("move it {stand} the block, where it stands for the whole block"));
}
