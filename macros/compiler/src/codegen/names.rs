//! The names of generated things: readable ones, made from the user's.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;

use crate::resolve::{Block, BlockId, BlockKind, Operation, OperationKind, Program};
use crate::schedule::Schedule;

/// Hygiene under which the user's expressions cannot name locals.
pub(crate) fn hygienic() -> Span {
    Span::mixed_site()
}

/// The user's identifier as a generated local: same text and place, but out of the user's reach.
pub(crate) fn local(ident: &Ident) -> Ident {
    Ident::new(&unraw(ident), Span::mixed_site().located_at(ident.span()))
}

/// Generated tokens at a place of the user's source, where rustc then reports errors in them.
pub(crate) fn placed(tokens: impl ToTokens, at: Span) -> TokenStream {
    let place = |mut token: TokenTree| {
        token.set_span(token.span().located_at(at));
        token
    };
    tokens.into_token_stream().into_iter().map(place).collect()
}

fn unraw(ident: &Ident) -> String {
    let text = ident.to_string();
    match text.strip_prefix("r#") {
        Some(text) => format!("{text}_"),
        None => text,
    }
}

/// The names of one pipeline's code. Locals share one hygiene, so that no two of them may have the same name;
/// the user's names come first, and generated names change if they clash.
pub(crate) struct Names {
    /// The locals of host arguments, device buffers and streams.
    pub(crate) hosts: Vec<Ident>,
    pub(crate) buffers: Vec<Ident>,
    pub(crate) streams: Vec<Ident>,
    /// The event's name for each record of the schedule.
    pub(crate) events: Vec<Ident>,
    /// The field of the kernel that each operation launches.
    pub(crate) kernel_of: Vec<Option<Ident>>,
    /// The local that stands for each operation.
    pub(crate) operations: Vec<Ident>,
    /// The local that says for each `if` and its `else` which of them is taken.
    pub(crate) blocks: Vec<Ident>,
    /// The locals of the values of a host function's arguments.
    pub(crate) values: Vec<Ident>,
    pub(crate) purpose: Ident,
    pub(crate) pipeline: Ident,
    pub(crate) call: Ident,
    pub(crate) run: Ident,
    /// The user's name for the chunk, or one for a chunk that is not declared.
    pub(crate) chunk: Ident,
}

impl Names {
    pub(crate) fn new(program: &Program, schedule: &Schedule) -> Self {
        let mut taken = Taken::default();
        // The world's own name stands in shapes that are written already.
        taken.0.extend(program.world.iter().map(ToString::to_string));
        let hosts = program.hosts.iter().map(|host| taken.like(&host.name)).collect();
        let buffers = program.buffers.iter().map(|buffer| taken.like(&buffer.name)).collect();
        let streams = program.streams.iter().map(|stream| taken.like(&stream.name)).collect();
        let records = schedule.records.iter();
        let events = records.map(|record| taken.unused(event_name(program, record.0 as usize))).collect();
        let [purpose, pipeline, call, run] =
            ["purpose", "pipeline", "call", "run"].map(|name| taken.unused(name.to_owned()));
        // A declared name keeps the user's hygiene, so that expressions can use it and no local shadows it.
        let chunk = program.chunk.name.clone().unwrap_or_else(|| taken.unused("chunk".to_owned()));
        // The field of type parameters.
        taken.0.insert("elements".to_owned());
        // Each kernel path has one field; two paths with the same last name get different fields.
        let mut fields: BTreeMap<String, Ident> = BTreeMap::new();
        let kernel_of = program
            .operations
            .iter()
            .map(|operation| {
                let OperationKind::Launch(launch) = &operation.kind else { return None };
                let path = launch.kernel.to_token_stream().to_string();
                let field = fields.entry(path).or_insert_with(|| taken.unused(last_segment(operation)));
                Some(field.clone())
            })
            .collect();
        // Their scope is a stage, so that locals of different stages may have the same name.
        let mut bound = (None, taken.clone());
        let operations = program
            .operations
            .iter()
            .map(|operation| {
                if bound.0 != Some(operation.stage) {
                    bound = (Some(operation.stage), taken.clone());
                }
                let name = match &operation.kind {
                    OperationKind::Launch(_) => format!("launch_{}", last_segment(operation)),
                    OperationKind::Call(_) => format!("call_{}", last_segment(operation)),
                    OperationKind::Host(_) => format!("host_{}", last_segment(operation)),
                    OperationKind::Then(_) => "then".to_owned(),
                    OperationKind::Fill(fill) => format!("fill_{}", unraw(&fill.name)),
                    OperationKind::Collective(collective) => {
                        let first =
                            collective.data.iter().next().map(|from| format!("_{}", unraw(&from.name)));
                        format!("{}{}", collective.kind.keyword(), first.unwrap_or_default())
                    }
                    OperationKind::Upload { names, .. }
                    | OperationKind::Download { names, .. }
                    | OperationKind::CopyBuffer { names, .. } => format!("copy_{}", unraw(&names.from)),
                };
                match operation.block {
                    None => Ident::new(&taken.free(name), hygienic()),
                    Some(_) => bound.1.unused(name),
                }
            })
            .collect();
        let mut blocks: Vec<Ident> = Vec::new();
        for block in &program.blocks {
            blocks.push(match block.kind {
                BlockKind::Else(BlockId(of)) => blocks[of].clone(),
                BlockKind::If(_) | BlockKind::Repeat(_) => taken.unused(block_name(block)),
            });
        }
        let most =
            program.operations.iter().map(|operation| operation.args().len()).max().unwrap_or_default();
        let values = (0..most).map(|index| taken.unused(format!("value_{index}"))).collect();
        Self {
            hosts,
            buffers,
            streams,
            events,
            kernel_of,
            operations,
            blocks,
            values,
            purpose,
            pipeline,
            call,
            run,
            chunk,
        }
    }
}

/// The names in use.
#[derive(Default, Clone)]
struct Taken(BTreeSet<String>);

impl Taken {
    /// A local for a name of the user's: the same name if it is free.
    fn like(&mut self, ident: &Ident) -> Ident {
        let mut name = self.unused(unraw(ident));
        name.set_span(local(ident).span());
        name
    }

    /// A new name, like `name`.
    fn unused(&mut self, name: String) -> Ident {
        let name = self.free(name);
        self.0.insert(name.clone());
        Ident::new(&name, hygienic())
    }

    /// `name`, or `name_2`, `name_3`, … if it is taken.
    fn free(&self, name: String) -> String {
        if !self.0.contains(&name) {
            return name;
        }
        let numbered = (2..).map(|number| format!("{name}_{number}")).find(|name| !self.0.contains(name));
        numbered.unwrap_or(name)
    }
}

/// `if_refine` for a condition that is a name.
fn block_name(block: &Block) -> String {
    let BlockKind::If(condition) = &block.kind else { return "repeat".to_owned() };
    match &**condition {
        syn::Expr::Path(path) => {
            path.path.get_ident().map_or_else(|| "taken".to_owned(), |name| format!("if_{}", unraw(name)))
        }
        _ => "taken".to_owned(),
    }
}

/// `load_done` for the last operation of stage `load`, `load_dx_done` for one before it.
fn event_name(program: &Program, index: usize) -> String {
    if let Some(name) = program.event_after(index) {
        return unraw(name);
    }
    let operation = &program.operations[index];
    let stage = unraw(&program.stages[operation.stage.0].name);
    let last = program.operations.iter().rposition(|other| other.stage == operation.stage);
    if last == Some(index) {
        return format!("{stage}_done");
    }
    let what = match &operation.kind {
        OperationKind::Fill(fill) => unraw(&fill.name),
        OperationKind::Upload { names, .. }
        | OperationKind::Download { names, .. }
        | OperationKind::CopyBuffer { names, .. } => unraw(&names.to),
        OperationKind::Launch(_) | OperationKind::Call(_) | OperationKind::Host(_) => last_segment(operation),
        OperationKind::Then(_) => "then".to_owned(),
        OperationKind::Collective(collective) => {
            let written = collective.data.iter().last().map(|to| unraw(&to.name));
            written.unwrap_or_else(|| collective.kind.keyword().to_owned())
        }
    };
    format!("{stage}_{what}_done")
}

/// The last name of the path that an operation calls.
fn last_segment(operation: &Operation) -> String {
    let last = operation.path().and_then(|path| path.path.segments.last());
    last.map(|segment| unraw(&segment.ident)).unwrap_or_default()
}
