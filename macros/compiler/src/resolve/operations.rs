//! The operations of the stages, their names resolved.

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::ExprPath;

use super::arguments::{resolve_invocation, resolve_launch};
use super::collectives::resolve_collective;
use super::copies::{resolve_copy, resolve_fill};
use super::names::Names;
use super::{
    Block, BlockId, BlockKind, Mark, MarkKind, Operation, OperationKind, Program, Stage, StageId, Stream,
    StreamId, Sync,
};
use crate::diagnostics::{Diagnostics, similar};
use crate::syntax::{self, Priority};

type Written = (Ident, Option<Ident>, Vec<syntax::Operation>);

/// Where an operation stands.
#[derive(Clone, Copy)]
struct At {
    stage: StageId,
    /// `None` if it is unknown, which was reported.
    stream: Option<StreamId>,
    block: Option<BlockId>,
}

pub(super) fn resolve(
    program: &mut Program,
    stages: Vec<Written>,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) {
    for (stage, _, operations) in &stages {
        names.note_copies(stage, operations);
    }
    for (name, stream, operations) in stages {
        let stream = match stream {
            Some(stream) => find_stream(program, &stream, diagnostics),
            None => Some(own_stream(program, &name)),
        };
        let at = At { stage: StageId(program.stages.len()), stream, block: None };
        program.stages.push(Stage { name, stream });
        resolve_all(program, operations, at, names, diagnostics);
    }
}

fn resolve_all(
    program: &mut Program,
    operations: Vec<syntax::Operation>,
    at: At,
    names: &mut Names,
    diagnostics: &mut Diagnostics,
) {
    for operation in operations {
        let resolved = match operation {
            syntax::Operation::Copy(copy) => resolve_copy(program, &copy, names, diagnostics)
                .map(|(text, kind)| (copy.keyword.span(), text, kind, at.stream)),
            syntax::Operation::Fill(fill) => {
                let span = fill.keyword.span();
                resolve_fill(program, *fill, names, diagnostics)
                    .map(|(text, kind)| (span, text, kind, at.stream))
            }
            syntax::Operation::Launch(launch) => {
                let span = syn::spanned::Spanned::span(&launch.kernel);
                resolve_launch(program, *launch, at.stream, names, diagnostics)
                    .map(|(text, kind, stream)| (span, text, kind, stream))
            }
            syntax::Operation::Call(call) => {
                let text = format!("call {}", written(&call.path));
                let span = call.keyword.span();
                resolve_invocation(program, *call, false, names, diagnostics)
                    .map(|call| (span, text, OperationKind::Call(Box::new(call)), at.stream))
            }
            syntax::Operation::Host(call) => {
                let text = format!("host {}", written(&call.path));
                let span = call.keyword.span();
                resolve_invocation(program, *call, true, names, diagnostics)
                    .map(|call| (span, text, OperationKind::Host(Box::new(call)), at.stream))
            }
            syntax::Operation::Then(then) => {
                let kind = OperationKind::Then(Box::new(then.closure));
                Some((then.keyword.span(), "then".to_owned(), kind, at.stream))
            }
            syntax::Operation::Collective(collective) => {
                let span = collective.keyword.span();
                resolve_collective(program, *collective, names, diagnostics)
                    .map(|(text, kind)| (span, text, kind, at.stream))
            }
            syntax::Operation::Repeat(repeat) => {
                let inside = open(program, BlockKind::Repeat(Box::new(repeat.times)), at);
                resolve_all(program, repeat.body, inside, names, diagnostics);
                continue;
            }
            syntax::Operation::If(conditional) => {
                let inside = open(program, BlockKind::If(Box::new(conditional.condition)), at);
                resolve_all(program, conditional.body, inside, names, diagnostics);
                if let (Some(of), false) = (inside.block, conditional.otherwise.is_empty()) {
                    let inside = open(program, BlockKind::Else(of), at);
                    resolve_all(program, conditional.otherwise, inside, names, diagnostics);
                }
                continue;
            }
            syntax::Operation::Record(syntax::Record { keyword, event }) => {
                mark(program, at, keyword, event, MarkKind::Record, diagnostics);
                continue;
            }
            syntax::Operation::Wait(syntax::Wait { keyword, event, of }) => {
                mark(program, at, keyword, event, MarkKind::Wait(of), diagnostics);
                continue;
            }
        };
        if let Some((span, text, kind, Some(stream))) = resolved {
            push(program, at, (span, text, kind, stream));
        }
    }
}

fn push(program: &mut Program, at: At, (span, text, kind, stream): (Span, String, OperationKind, StreamId)) {
    program.operations.push(Operation { stage: at.stage, stream, at: span, text, block: at.block, kind });
}

/// Begins a block; gives where what is in it stands.
fn open(program: &mut Program, kind: BlockKind, at: At) -> At {
    let block = BlockId(program.blocks.len());
    program.blocks.push(Block { parent: at.block, stage: at.stage, kind });
    At { block: Some(block), ..at }
}

/// A path without the spaces between its tokens.
pub(super) fn written(path: &ExprPath) -> String {
    path.to_token_stream().to_string().split_whitespace().collect()
}

/// A `record` or `wait`, which only a pipeline with `sync = manual` may have.
fn mark(
    program: &mut Program,
    At { stage, stream, block }: At,
    keyword: Ident,
    event: Ident,
    kind: MarkKind,
    diagnostics: &mut Diagnostics,
) {
    let position = program.operations.len();
    match (&mut program.sync, stream) {
        (Sync::Manual(marks), Some(stream)) => {
            marks.push(Mark { stage, stream, keyword, event, kind, block, position });
        }
        (Sync::Manual(_), None) => {}
        (Sync::Auto, _) => {
            diagnostics
                .error(
                    "TW0801",
                    &keyword,
                    format!("`{keyword}` places an event by hand, but the macro places them"),
                )
                .note("a pipeline without `sync` is `sync = auto`")
                .help("write `sync = manual;` to place all events yourself, or remove this");
        }
    }
}

/// The stream of a stage that names none.
fn own_stream(program: &mut Program, stage: &Ident) -> StreamId {
    let id = StreamId(program.streams.len());
    program.streams.push(Stream {
        name: stage.clone(),
        priority: Priority::Default,
        per_slot: false,
        null: false,
        declared: false,
    });
    id
}

pub(super) fn find_stream(
    program: &Program,
    name: &Ident,
    diagnostics: &mut Diagnostics,
) -> Option<StreamId> {
    let declared = || program.streams.iter().enumerate().filter(|(_, stream)| stream.declared);
    if let Some((index, _)) = declared().find(|(_, stream)| stream.name == *name) {
        return Some(StreamId(index));
    }
    let names: Vec<_> = declared().map(|(_, stream)| stream.name.to_string()).collect();
    let error = diagnostics.error("TW0301", name, format!("cannot find stream `{name}` in this pipeline"));
    match similar(&name.to_string(), names.iter().map(String::as_str)) {
        Some(meant) => error.help(format!("a stream with a similar name exists: `{meant}`")),
        None => error.help(format!("declare it: `stream {name};`")),
    };
    None
}
