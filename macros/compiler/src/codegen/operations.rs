//! The operations of the stages: each with the waits before it and the records after it.
//!
//! Waits and records stand outside of `if` and `repeat`, so that every chunk has them. An operation that an
//! `if` leaves out then does nothing at its place in the order, and a `repeat` is one operation to the
//! schedule.

use std::ops::Range;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::visit::Visit;
use syn::{BinOp, Expr, ExprClosure, Lifetime, spanned::Spanned};

use super::names::{Names, hygienic, local, placed};
use super::{Context, number};
use crate::resolve::{
    BlockId, BlockKind, CallArgument, Invocation, Launch, Mode, Operation, OperationKind, StageId,
};
use crate::schedule::Distance;

/// The operations of one stage, in a block labelled with its name.
pub(super) fn stage(cx: &Context<'_>, id: StageId) -> TokenStream {
    let site = hygienic();
    let of_stage = |operation: &Operation| operation.stage == id;
    let operations = &cx.program.operations;
    let start = operations.iter().position(of_stage).unwrap_or(operations.len());
    let range = start..start + operations[start..].iter().take_while(|operation| of_stage(operation)).count();
    if range.is_empty() {
        return TokenStream::new();
    }
    let statements = statements(cx, range);
    let name = local(&cx.program.stages[id.0].name);
    let label = Lifetime::new(&format!("'{name}"), name.span());
    quote_spanned!(site=> #label: { #statements })
}

/// One operation to the schedule: an operation of the program, or everything in a `repeat`.
struct Unit {
    operations: Range<usize>,
    /// The innermost `if` or `else` around it.
    guard: Option<BlockId>,
    body: TokenStream,
}

fn statements(cx: &Context<'_>, range: Range<usize>) -> TokenStream {
    let mut tokens = TokenStream::new();
    let mut bound: Vec<BlockId> = Vec::new();
    let mut units = units(cx, range).into_iter().peekable();
    while let Some(first) = units.next() {
        let guard = first.guard;
        conditions(cx, guard, &mut bound, &mut tokens);
        // Operations share one condition as long as no wait or record comes between them.
        let mut run = vec![first];
        while let (Some(next), Some(last)) = (units.peek(), run.last())
            && guard.is_some()
            && next.guard == guard
            && waits(cx, next.operations.start).is_empty()
            && records(cx, last.operations.end - 1).is_empty()
            && let Some(next) = units.next()
        {
            run.push(next);
        }
        emit(cx, guard, &run, &mut tokens);
    }
    tokens
}

fn emit(cx: &Context<'_>, guard: Option<BlockId>, run: &[Unit], tokens: &mut TokenStream) {
    let (site, Names { run: run_name, chunk, .. }) = (hygienic(), &cx.names);
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
    for index in first.operations.start..last.operations.end {
        let (name, number) = (&cx.names.operations[index], number(index));
        let stream = &cx.names.streams[cx.program.operations[index].stream.0];
        // Note 83: a method of a reference is the runtime's.
        tokens.extend(quote_spanned!(site=> let #name = &#run_name.on(#stream, #number, #chunk);));
        if index == first.operations.start {
            tokens.extend(waits(cx, index));
        }
    }
    let bodies = run.iter().map(|unit| &unit.body);
    tokens.extend(match guard {
        None => quote_spanned!(site=> #(#bodies)*),
        Some(block) => {
            let taken = taken(cx, block);
            quote_spanned!(site=> if #taken { #(#bodies)* })
        }
    });
    tokens.extend(records(cx, last.operations.end - 1));
}

/// Binds the conditions of the blocks around a unit that are not bound yet.
fn conditions(cx: &Context<'_>, guard: Option<BlockId>, bound: &mut Vec<BlockId>, tokens: &mut TokenStream) {
    let site = hygienic();
    for block in cx.program.within(guard) {
        let block = match cx.program.blocks[block.0].kind {
            BlockKind::Else(of) => of,
            BlockKind::If(_) | BlockKind::Repeat(_) => block,
        };
        let BlockKind::If(condition) = &cx.program.blocks[block.0].kind else { continue };
        if bound.contains(&block) {
            continue;
        }
        let name = &cx.names.blocks[block.0];
        let bool = quote_spanned!(site.located_at(condition.span())=> bool);
        tokens.extend(match cx.program.blocks[block.0].parent.map(|outer| taken(cx, outer)) {
            None => quote_spanned!(site=> let #name: #bool = #condition;),
            Some(outer) if is_looser_than_and(condition) => {
                quote_spanned!(site=> let #name: #bool = #outer && (#condition);)
            }
            Some(outer) => quote_spanned!(site=> let #name: #bool = #outer && #condition;),
        });
        bound.push(block);
    }
}

/// Whether a chunk takes a block: the local of an `if`, which includes the blocks around it, or its negation
/// for an `else`.
fn taken(cx: &Context<'_>, block: BlockId) -> TokenStream {
    let (site, name) = (hygienic(), &cx.names.blocks[block.0]);
    let of = &cx.program.blocks[block.0];
    match (&of.kind, of.parent) {
        (BlockKind::Else(_), None) => quote_spanned!(site=> !#name),
        (BlockKind::Else(_), Some(outer)) => {
            let outer = taken(cx, outer);
            quote_spanned!(site=> #outer && !#name)
        }
        _ => name.to_token_stream(),
    }
}

/// Whether an expression would come apart after `a &&`.
fn is_looser_than_and(expr: &Expr) -> bool {
    match expr {
        Expr::Group(group) => is_looser_than_and(&group.expr),
        Expr::Binary(binary) => matches!(binary.op, BinOp::Or(_)),
        Expr::Assign(_) | Expr::Range(_) | Expr::Closure(_) => true,
        _ => false,
    }
}

/// A condition that may stand before a `{`: a `macro_rules` may have matched a struct's literal.
fn before_brace(condition: &Expr) -> TokenStream {
    struct Literals(bool);
    impl Visit<'_> for Literals {
        fn visit_expr_struct(&mut self, _: &syn::ExprStruct) {
            self.0 = true;
        }
    }
    let mut literals = Literals(false);
    literals.visit_expr(condition);
    let site = hygienic().located_at(condition.span());
    if literals.0 { quote_spanned!(site=> (#condition)) } else { condition.to_token_stream() }
}

/// The label of a turn, which differs from those around it.
fn turn(cx: &Context<'_>, block: BlockId) -> Lifetime {
    let is_repeat =
        |&&BlockId(block): &&BlockId| matches!(cx.program.blocks[block].kind, BlockKind::Repeat(_));
    let stage = &cx.program.stages[cx.program.blocks[block.0].stage.0].name;
    let around =
        cx.program.within(Some(block)).iter().filter(is_repeat).count() + usize::from(stage == "turn");
    let name = if around == 1 { "'turn".to_owned() } else { format!("'turn_{around}") };
    Lifetime::new(&name, hygienic())
}

fn units(cx: &Context<'_>, range: Range<usize>) -> Vec<Unit> {
    let program = cx.program;
    let mut units = Vec::new();
    let mut index = range.start;
    while index < range.end {
        let operation = &program.operations[index];
        let Some(repeat) = program.repeat_around(operation) else {
            let body = due(cx, index);
            units.push(Unit { operations: index..index + 1, guard: operation.block, body });
            index += 1;
            continue;
        };
        let inside = program.operations[index..range.end]
            .iter()
            .take_while(|operation| program.repeat_around(operation) == Some(repeat));
        let operations = index..index + inside.count();
        let outside = program.within(Some(repeat)).len() - 1;
        let body = nested(cx, operations.clone(), outside);
        index = operations.end;
        units.push(Unit { operations, guard: program.blocks[repeat.0].parent, body });
    }
    units
}

/// The contents of a `repeat`: plain loops and conditions. `depth` blocks around it are written already.
fn nested(cx: &Context<'_>, range: Range<usize>, depth: usize) -> TokenStream {
    let (program, site) = (cx.program, hygienic());
    let block_of = |index: usize| program.within(program.operations[index].block).get(depth).copied();
    let mut tokens = TokenStream::new();
    let mut index = range.start;
    while index < range.end {
        let Some(block) = block_of(index) else {
            tokens.extend(due(cx, index));
            index += 1;
            continue;
        };
        let end_of = |start: usize, block: BlockId| {
            start + (start..range.end).take_while(|&next| block_of(next) == Some(block)).count()
        };
        let mut end = end_of(index, block);
        let inside = nested(cx, index..end, depth + 1);
        tokens.extend(match &program.blocks[block.0].kind {
            BlockKind::Repeat(times) => {
                let private = super::run::private(cx);
                let call = placed(quote_spanned!(site=> #private::times), times.span());
                // A `break` or `continue` that a macro of the user's hides cannot leave a labelled block.
                let label = turn(cx, block);
                quote_spanned!(site=> for _ in #call(#times) { #label: { #inside } })
            }
            BlockKind::If(condition) => {
                // Both branches depend on one evaluation: the proof relies on one of them running.
                let of_this = |&next: &BlockId| matches!(program.blocks[next.0].kind, BlockKind::Else(of) if of == block);
                let next = (end < range.end).then(|| block_of(end)).flatten().filter(of_this);
                let otherwise = next.map(|next| {
                    let start = end;
                    end = end_of(start, next);
                    let inside = nested(cx, start..end, depth + 1);
                    quote_spanned!(site=> else { #inside })
                });
                let condition = before_brace(condition);
                quote_spanned!(site=> if #condition { #inside } #otherwise)
            }
            // This is the `else` of an `if` without operations.
            BlockKind::Else(of) => match &program.blocks[of.0].kind {
                BlockKind::If(condition) => quote_spanned!(site=> if !(#condition) { #inside }),
                _ => inside,
            },
        });
        index = end;
    }
    tokens
}

fn waits(cx: &Context<'_>, index: usize) -> TokenStream {
    let (site, name) = (hygienic(), &cx.names.operations[index]);
    let waits = cx.schedule.waits.iter().filter(|wait| wait.to.0 as usize == index).map(|wait| {
        let event = &cx.names.events[cx.event_of(wait.from.0)];
        let method = match wait.distance {
            Distance::Same => "wait",
            Distance::Previous => "wait_previous",
            Distance::Reuse => "wait_reuse",
        };
        let method = Ident::new(method, site);
        quote_spanned!(site=> #name.#method(#event)?;)
    });
    waits.collect()
}

fn records(cx: &Context<'_>, index: usize) -> TokenStream {
    let (site, name) = (hygienic(), &cx.names.operations[index]);
    let records =
        cx.schedule.records.iter().zip(&cx.names.events).filter(|(record, _)| record.0 as usize == index);
    records.map(|(_, event)| quote_spanned!(site=> #name.record(#event)?;)).collect()
}

/// The operation. Beside collectives a chunk may have no items on this rank: it takes part in them alone.
fn due(cx: &Context<'_>, index: usize) -> TokenStream {
    let (site, name, body) = (hygienic(), &cx.names.operations[index], body(cx, index));
    let together = matches!(cx.program.operations[index].kind, OperationKind::Collective(_));
    match together || cx.program.collectives().next().is_none() {
        true => body,
        false => quote_spanned!(site=> if #name.is_due() { #body }),
    }
}

/// The operation itself.
fn body(cx: &Context<'_>, index: usize) -> TokenStream {
    let site = hygienic();
    let operation = &cx.program.operations[index];
    let Names { hosts, buffers, .. } = &cx.names;
    let name = &cx.names.operations[index];
    let copy = |method: &str, from, to| copy((name, method), operation.at, from, to);
    match &operation.kind {
        OperationKind::Upload { from, to, names } => {
            copy("upload", (&hosts[from.0], &names.from), (&buffers[to.0], &names.to))
        }
        OperationKind::Download { from, to, names } => {
            copy("download", (&buffers[from.0], &names.from), (&hosts[to.0], &names.to))
        }
        OperationKind::CopyBuffer { from, to, names } => {
            copy("copy", (&buffers[from.0], &names.from), (&buffers[to.0], &names.to))
        }
        OperationKind::Fill(fill) => {
            // rustc reports a value of another type at the keyword and the value.
            let site = site.located_at(operation.at);
            let (buffer, value) = (at(&buffers[fill.buffer.0], fill.name.span()), &fill.value);
            let (name, method) = (at(name, operation.at), Ident::new("fill", site));
            quote_spanned!(site=> #name.#method(#buffer, #value)?;)
        }
        OperationKind::Launch(launch) => launch_call(cx, index, launch),
        OperationKind::Call(call) => routine(cx, index, call),
        OperationKind::Host(call) => host_function(cx, index, call),
        OperationKind::Then(closure) => callback(cx, &at(name, operation.at), closure),
        OperationKind::Collective(collective) => super::collectives::call(cx, index, collective),
    }
}

/// A copy. Each side is a local and the name as it is written there, where rustc reports a mismatch of types.
fn copy(
    (operation, method): (&Ident, &str),
    keyword: Span,
    from: (&Ident, &Ident),
    to: (&Ident, &Ident),
) -> TokenStream {
    let site = hygienic().located_at(keyword);
    let (operation, method) = (at(operation, keyword), Ident::new(method, site));
    let [from, to] = [from, to].map(|(local, written)| at(local, written.span()));
    quote_spanned!(site=> #operation.#method(#from, #to)?;)
}

/// A local at another place of the user's source.
pub(super) fn at(local: &Ident, place: Span) -> Ident {
    let mut ident = local.clone();
    // Note 20: users cannot name it.
    ident.set_span(Span::mixed_site().located_at(place));
    ident
}

fn launch_call(cx: &Context<'_>, index: usize, launch: &Launch) -> TokenStream {
    // rustc reports what is wrong with the launch as a whole at the kernel.
    let place = launch.kernel.span();
    let site = hygienic().located_at(place);
    let operation = &at(&cx.names.operations[index], place);
    let kernel = &cx.names.kernel_of[index];
    let (grid, block) = (&launch.grid, &launch.block);
    let shared = launch.shared.as_ref().map_or_else(|| quote_spanned!(site=> 0), ToTokens::to_token_stream);
    let args = launch.args.iter().map(|argument| device_argument(cx, index, argument, place));
    let kernel = kernel.as_ref().map(|kernel| at(kernel, place));
    let call = quote_spanned!(site=> #kernel.launch(#operation.config(#grid, #block, #shared), #(#args),*)?;);
    match &launch.unsafety {
        // rustc says at the user's word if the kernel asks for nothing.
        Some(word) => quote_spanned!(word.span=> #word { #call }),
        None => call,
    }
}

/// An argument of a kernel or a routine.
fn device_argument(cx: &Context<'_>, index: usize, argument: &CallArgument, place: Span) -> TokenStream {
    let (buffer, mode, written) = match argument {
        CallArgument::Scalar(expr) => return expr.to_token_stream(),
        CallArgument::Buffer { buffer, mode, written } => (buffer, mode, written),
    };
    // rustc reports a wrong type from the first of these tokens to the last: the argument as it is written.
    let (site, operation) = (hygienic(), &cx.names.operations[index]);
    let first = written.to_token_stream().into_iter().next().map_or(place, |token| token.span());
    let last = written.buffer().map_or(first, Ident::span);
    let (operation, name) = (at(operation, first), at(&cx.names.buffers[buffer.0], last));
    let method = Ident::new(mode.method(), site.located_at(first));
    let memory = quote_spanned!(site.located_at(last)=> #operation.#method(#name));
    match written.shape() {
        None => memory,
        Some((_, shape)) => {
            let private = super::run::private(cx).into_iter().map(|mut token| {
                token.set_span(token.span().located_at(first));
                token
            });
            let private: TokenStream = private.collect();
            let end = site.located_at(shape.bracket_token.span.close());
            quote_spanned!(end=> #private::Shaped::new(#memory, #shape))
        }
    }
}

/// The most arguments that a function may have for the runtime to recognise it as a routine.
const ROUTINE_ARGUMENTS: usize = 16;

// Note 50: paths into libraries are called as they are.
/// Whether it is a routine of the runtime's, such as `cublas::gemm`. rustc need not be asked whether these
/// are routines. It reports bounds that do not hold at the argument only if the function is called directly.
fn is_of_a_library(path: &syn::ExprPath) -> bool {
    let mut modules = path.path.segments.iter().rev().skip(1);
    modules.next().is_some_and(|module| {
        ["cublas", "cudnn", "cufft", "curand"].iter().any(|library| module.ident == library)
    })
}

/// `call path(args)`: the routine is handed an `Enqueue`, with which it enqueues.
fn routine(cx: &Context<'_>, index: usize, call: &Invocation) -> TokenStream {
    let (place, path) = (call.path.span(), &call.path);
    let site = hygienic().located_at(place);
    let operation = &at(&cx.names.operations[index], place);
    let args = call.args.iter().map(|argument| device_argument(cx, index, argument, place));
    // For a function that is not a routine, rustc is to show what a routine looks like, not to report a
    // surplus argument.
    let routine = match call.args.len() <= ROUTINE_ARGUMENTS && !is_of_a_library(path) {
        true => {
            let checked = placed(super::run::private(cx), place);
            quote_spanned!(site=> #checked::routine(&#path))
        }
        false => path.to_token_stream(),
    };
    quote_spanned! {site=>
        if #operation.calls()? {
            #operation.call(#routine(&#operation.enqueue(), #(#args),*))?;
        }
    }
}

/// `host path(args)`: values are computed now, memory is handed over when the stream gets there.
fn host_function(cx: &Context<'_>, index: usize, call: &Invocation) -> TokenStream {
    let (place, path) = (call.path.span(), &call.path);
    let site = hygienic().located_at(place);
    let private = super::run::private(cx);
    let operation = &at(&cx.names.operations[index], place);
    let (mut values, mut memory, mut slices, mut args) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for argument in &call.args {
        match argument {
            CallArgument::Scalar(expr) => {
                let name = at(&cx.names.values[values.len()], expr.span());
                let checked = placed(quote_spanned!(site=> #private::host_value), expr.span());
                values.push(quote_spanned!(site=> let #name = #checked(#expr);));
                args.push(name);
            }
            CallArgument::Buffer { buffer, mode, written } => {
                let last = written.buffer().map_or(place, Ident::span);
                let name = at(&cx.names.buffers[buffer.0], last);
                let method = Ident::new(&format!("host_{}", mode.method()), site);
                memory.push(quote_spanned!(site=> #operation.#method(#name)));
                slices.push(name.clone());
                args.push(name);
            }
        }
    }
    quote_spanned! {site=>
        {
            #(#values)*
            #operation.host((#(#memory,)*), move |(#(#slices,)*)| #path(#(#args),*))?;
        }
    }
}

/// `then |c| expr`: the callback owns a clone of each parameter that it names.
fn callback(cx: &Context<'_>, operation: &Ident, closure: &ExprClosure) -> TokenStream {
    // rustc reports what the callback may not capture or return at its body.
    let site = hygienic().located_at(closure.body.span());
    let mut closure = closure.clone();
    closure.capture.get_or_insert_with(|| syn::Token![move](site));
    let named = cx.program.params.iter().filter(|param| super::mentions(&closure.body, &param.name));
    let clones = named.map(|param| {
        let name = &param.name;
        quote_spanned!(site=> let #name = ::core::clone::Clone::clone(&#name);)
    });
    quote_spanned! {site=>
        {
            #(#clones)*
            #operation.then(#closure)?;
        }
    }
}

impl Mode {
    /// The method of an operation that gives a buffer's memory.
    fn method(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::ReadWrite => "read_write",
            Self::Write => "write",
        }
    }
}
