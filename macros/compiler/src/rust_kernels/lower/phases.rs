//! Kernels in blocks: phases, and what a thread may do where.

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Expr, ExprForLoop, ExprMethodCall, Pat};

use super::context::{Level, Owner};
use super::fetched::FETCHES;
use super::scans::SCANS;
use super::warps::WARPS;
use super::{Lower, Lowered, Reported};
use crate::groups::peel_expr;
use crate::rust_kernels::ir::{self, Block, Closure, Kind, LocalId, Phase, Range, Statement};
use crate::rust_kernels::types::{Number, Shape, Ty};
use crate::text::text;

/// The methods of a block, and how they are called.
const PHASES: [(&str, &str); 18] = [
    ("each", "each(|t| …)"),
    ("fill", "fill(&mut tile, |i| …)"),
    ("fill_columns", "fill_columns(&mut tile, |[r, c]| …)"),
    ("fill_parts", "fill_parts(&mut y.tile(at), |t| …)"),
    ("reduce", "reduce(|t| …, |a, b| …)"),
    ("any", "any(|t| …)"),
    ("count", "count(|t| …)"),
    ("shared", "shared::<[f32; 256]>()"),
    ("shared_padded", "shared_padded::<[[f32; 32]; 32], 1>()"),
    ("shared_slice", "shared_slice::<f32>(n)"),
    ("shared_bytes", "shared_bytes()"),
    ("private", "private(start)"),
    ("tiles", "tiles::<32, 32>(y)"),
    ("rows", "rows(y)"),
    ("shape", "shape(y)"),
    ("index", "index()"),
    ("blocks", "blocks()"),
    ("threads", "threads()"),
];

fn methods() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    PHASES.iter().chain(&FETCHES).chain(&SCANS).chain(&WARPS)
}

/// Whether a `Block` has a method of this name.
pub(super) fn is_method_of_block(name: &str) -> bool {
    methods().any(|(known, _)| *known == name)
}

impl Lower<'_> {
    /// A method of a `Block`.
    pub(super) fn of_block(&mut self, call: &ExprMethodCall) -> Lowered<(Kind, Ty)> {
        let name = call.method.to_string();
        let usize = self.types.number(Number::Usize);
        let arguments: Vec<&Expr> = call.args.iter().collect();
        if let (name @ ("index" | "blocks" | "threads" | "shared_bytes"), []) =
            (name.as_str(), &arguments[..])
        {
            if matches!(name, "index" | "blocks") {
                self.has_numbers(call)?;
            }
            return Ok(match name {
                "shared_bytes" => (Kind::Builtin("tw::shared_bytes()"), usize),
                "index" => (Kind::Builtin("tw::block_index()"), self.types.add(Shape::BlockIndex)),
                "blocks" => (Kind::Builtin("tw::blocks()"), usize),
                _ => (Kind::Builtin("tw::threads()"), usize),
            });
        }
        if let ("shape", [of]) = (name.as_str(), &arguments[..]) {
            return self.shape(call, of);
        }
        self.no_barrier(call)?;
        self.outside_of_phases(call)?;
        if let Some(scan) = self.scan(call, &arguments)? {
            return Ok(scan);
        }
        if let Some(of_warps) = self.of_warps(call, &arguments)? {
            return Ok(of_warps);
        }
        if let Some(half) = self.half_of_fill(call, &arguments)? {
            return Ok(half);
        }
        match (name.as_str(), &arguments[..]) {
            ("each", [phase]) => {
                let thread = self.types.add(Shape::Thread);
                let unit = self.types.unit();
                let phase = self.phase(phase, &[thread], unit)?;
                Ok((Kind::Phase(Box::new(Phase::Each(phase))), unit))
            }
            ("any", [phase]) | ("count", [phase]) => {
                let thread = self.types.add(Shape::Thread);
                let bool = self.types.bool();
                let phase = self.phase(phase, &[thread], bool)?;
                Ok(match name.as_str() {
                    "any" => (Kind::Phase(Box::new(Phase::Any(phase))), bool),
                    _ => (Kind::Phase(Box::new(Phase::Count(phase))), usize),
                })
            }
            ("reduce", [value, combine]) => {
                let ty = self.types.fresh();
                let (value, combine) = self.values_of_threads(value, combine, ty)?;
                // One of each warp, and the result.
                self.scratch.push((ty, 32 + 1));
                Ok((Kind::Phase(Box::new(Phase::Reduce(value, combine))), ty))
            }
            ("fill", [array, value]) => self.fill(array, value),
            ("fill_columns", [array, value]) => {
                let (local, at, element) = self.filled(array)?;
                let value = self.phase(value, &[at], element)?;
                Ok((Kind::Phase(Box::new(Phase::FillColumns(local, value))), self.types.unit()))
            }
            ("fill_parts", [tile, value]) => self.fill_parts(tile, value),
            ("private", [start]) => {
                let start = self.value(start)?;
                let ty = self.types.add(Shape::Private(start.ty));
                Ok((Kind::NewPrivate(Box::new(start)), ty))
            }
            ("tiles" | "rows", [_]) => {
                let help = format!("write `for at in {} {{ … }}`", text(call));
                Err(self.absent(call, "an iterator outside of a `for`", &help))
            }
            ("shared" | "shared_padded", []) | ("shared_slice", [_]) => {
                let help = format!("write `let mut tile = {};`", text(call));
                Err(self.report(call, "TW0911", "this shared array has no name", &[], &help))
            }
            (known, _) if methods().any(|(name, _)| *name == known) => {
                let takes = methods().find(|(name, _)| *name == known).map_or("", |(_, takes)| takes);
                let what = format!("`{known}` has other arguments");
                let help = format!("write `{}.{takes}`", text(&call.receiver));
                Err(self.report(&call.method, "TW0911", &what, &[], &help))
            }
            _ => {
                let message = format!("the method `{name}` of a `Block` is not in the language of kernels");
                let notes = [
                    "a block has `each`, `fill`, `fill_columns`, `reduce`, `any`, `count`, `shared`, `shared_slice`, `private`, `index`, `blocks` and `threads`",
                    "that with `#[kernel(threads = 256)]` has `fetch`, `fetch_columns` and `fill_fetched`",
                    "its threads get the values of those before them by `scan` and `scan_exclusive`",
                    "its warps have `shuffle`, `shuffle_up`, `shuffle_down`, `shuffle_xor`, `ballot`, `warp_any`, `warp_all`, `warp_reduce` and `warp_scan`",
                    "that of data with a shape has `tiles`, `rows`, `shape` and `fill_parts`",
                ];
                let help = "write it with these";
                Err(self.report(&call.method, "TW0908", &message, &notes, help))
            }
        }
    }

    /// The closure of a phase.
    pub(super) fn phase(&mut self, closure: &Expr, takes: &[Ty], gives: Ty) -> Lowered<usize> {
        let closure = match closure {
            Expr::Closure(closure) => closure,
            other => {
                let help = match takes {
                    [_, _] => format!("write it here: `|a, b| {}(a, b)`", text(other)),
                    _ => "write it here: `|t| …`".to_owned(),
                };
                return Err(self.report(other, "TW0911", "a phase is a closure", &[], &help));
            }
        };
        let outside = self.scope.len();
        let result = self.types.fresh();
        let (result_outside, around) = (self.result.replace(result), std::mem::take(&mut self.around));
        let level = std::mem::replace(&mut self.level, Level::Phase(self.locals.len()));
        let lowered = self.phase_in_scope(closure, takes, result);
        self.level = level;
        self.scope.truncate(outside);
        (self.result, self.around) = (result_outside, around);
        let closure = lowered?;
        if !matches!(self.types.shape(gives), Shape::Unit) {
            self.types.unify(result, gives);
        }
        self.closures.push(closure);
        Ok(self.closures.len() - 1)
    }

    fn phase_in_scope(&mut self, closure: &syn::ExprClosure, takes: &[Ty], result: Ty) -> Lowered<Closure> {
        if let Some(word) = &closure.capture {
            let what = "a phase has no copies of the block's variables";
            return Err(self.report(word, "TW0911", what, &[], "remove `move`"));
        }
        if let syn::ReturnType::Type(_, ty) = &closure.output {
            let ty = self.ty(ty)?;
            self.types.unify(result, ty);
        }
        let mut parameters = Vec::new();
        let mut first = Vec::new();
        for (input, &ty) in closure.inputs.iter().zip(takes) {
            let pattern = match input {
                Pat::Type(typed) => {
                    // A thread has one type alone, which has no name in the language.
                    if !matches!(self.types.shape(ty), Shape::Thread) {
                        let written = self.ty(&typed.ty)?;
                        self.types.unify(written, ty);
                    }
                    &*typed.pat
                }
                pattern => pattern,
            };
            parameters.push(match pattern {
                Pat::Ident(name) => self.declare(&name.ident, ty, name.mutability.is_some()),
                Pat::Wild(wild) => self.hidden("unused", ty, wild.span()),
                other => {
                    let whole = self.hidden("at", ty, other.span());
                    let value = self.expr(Kind::Local(whole), ty, other.span());
                    first.push(Statement::Let(self.pattern(other, ty)?, value));
                    whole
                }
            });
        }
        let mut body = self.value(&closure.body)?;
        self.types.unify(body.ty, result);
        if !first.is_empty() {
            let (ty, span) = (body.ty, closure.body.span());
            let block = Block { statements: first, value: Some(Box::new(body)) };
            body = self.expr(Kind::Block(block), ty, span);
        }
        Ok(Closure { parameters, result, body, moves: false })
    }

    /// A method of a thread in a phase, but for the shares that a `for` goes over.
    pub(super) fn of_thread(&mut self, call: &ExprMethodCall) -> Lowered<(Kind, Ty)> {
        match (call.method.to_string().as_str(), call.args.len()) {
            ("rank", 0) => Ok((Kind::Builtin("tw::rank()"), self.types.number(Number::Usize))),
            ("lane", 0) => Ok((Kind::Builtin("tw::lane()"), self.types.number(Number::Usize))),
            ("warp", 0) => Ok((Kind::Builtin("tw::warp()"), self.types.number(Number::Usize))),
            ("index", 0) => {
                self.has_numbers(call)?;
                Ok((Kind::Builtin("tw::index()"), self.types.add(Shape::Index(1))))
            }
            ("of_grid" | "of_block", 1) => {
                let help = format!("write `for i in {} {{ … }}`", text(call));
                Err(self.absent(call, "an iterator outside of a `for`", &help))
            }
            (name, _) => {
                let message = format!("the method `{name}` of a thread is not in the language of kernels");
                let notes =
                    ["a thread of a block has `rank`, `lane`, `warp`, `index`, `of_grid` and `of_block`"];
                Err(self.report(&call.method, "TW0908", &message, &notes, "write it with these"))
            }
        }
    }

    /// `for i in t.of_grid(n)`, `for i in t.of_block(n)`: the thread's share of a range.
    pub(super) fn for_share(&mut self, of: &ExprForLoop, over: &Expr) -> Lowered<Option<Kind>> {
        let Expr::MethodCall(call) = over else { return Ok(None) };
        let (from, step, ty) = match call.method.to_string().as_str() {
            "of_grid" => ("tw::index()", "tw::threads_of_grid()", Shape::Index(1)),
            "of_block" => ("tw::rank()", "tw::threads()", Shape::Number(Number::Usize)),
            _ => return Ok(None),
        };
        let Some(count) = call.args.first().filter(|_| call.args.len() == 1) else { return Ok(None) };
        match self.position(&call.receiver) {
            Some(thread) if matches!(self.types.shape(thread.ty), Shape::Thread) => {}
            _ => return Ok(None),
        }
        if call.method == "of_grid" {
            self.has_numbers(call)?;
        }
        let count = self.value(count)?;
        let (usize, ty) = (self.types.number(Number::Usize), self.types.add(ty));
        self.types.unify(count.ty, usize);
        let span = call.method.span();
        let range = Range {
            from: self.expr(Kind::Builtin(from), usize, span),
            to: count,
            inclusive: false,
            reversed: false,
            step: Some(self.expr(Kind::Builtin(step), usize, span)),
            fits: false,
            unroll: super::iteration::unroll(of),
        };
        let name = self.loop_variable(&of.pat, ty)?;
        let (id, body) = self.loop_body(of)?;
        Ok(Some(Kind::For(id, name, Box::new(range), body)))
    }

    /// `sums.put(block.index(), sum)`
    pub(super) fn put(
        &mut self,
        call: &ExprMethodCall,
        handle: ir::Expr,
        mut arguments: Vec<ir::Expr>,
    ) -> Lowered<(Kind, Ty)> {
        self.owned(call, &handle, Owner::Block)?;
        if self.level != Level::Block {
            let what = format!("`{}` is in a phase, where each thread would write it", text(call));
            let help = format!(
                "write it after the phase; what threads have computed comes there by a `reduce`: \
                 `let sum = {}.reduce(|t| …, |a, b| a + b);`",
                self.index_name
            );
            return Err(self.in_block(call, &what, &help));
        }
        let Shape::Elements { of, .. } = *self.types.shape(handle.ty) else { return Err(Reported) };
        let (Some(value), Some(at)) = (arguments.pop(), arguments.pop()) else { return Err(Reported) };
        match self.types.shape(at.ty) {
            Shape::BlockIndex => {}
            Shape::Reported => return Err(Reported),
            _ => {
                let message = format!("`{}` may be the element of another block", text(call));
                let notes = ["`put` writes the element of the block's own index"];
                let help = format!("write `{}.put({}.index(), …)`", text(&call.receiver), self.index_name);
                return Err(self.report(&call.args[0], "TW0904", &message, &notes, &help));
            }
        }
        self.types.unify(value.ty, of);
        self.changes();
        Ok((Kind::Put(Box::new(handle), Box::new(at), Box::new(value)), self.types.unit()))
    }

    /// Notes whose elements a kernel in blocks writes: a block's and a thread's may be the same.
    pub(super) fn owned(&mut self, call: &ExprMethodCall, handle: &ir::Expr, owner: Owner) -> Lowered<()> {
        if self.level == Level::Thread {
            return Ok(());
        }
        let local = match handle.kind {
            Kind::Local(local) if local.0 < self.parameters => local,
            _ => {
                let what = "an `Own` or `Out` has another name in a kernel in blocks";
                let help = "write the name of the parameter";
                return Err(self.report(&call.receiver, "TW0904", what, &[], help));
            }
        };
        match self.owners.iter().find(|(known, _)| *known == local) {
            Some((_, known)) if *known != owner => {
                let handle = text(&call.receiver);
                let (parts, note) = match (known, &owner) {
                    (Owner::Thread | Owner::Block, _) => (
                        "elements of threads and of blocks",
                        "`get_mut` takes the element of a thread, and `put` that of a block",
                    ),
                    (Owner::Tiles(..), Owner::Tiles(..)) => (
                        "tiles of two sizes",
                        "tiles of one size have no element twice; sizes with two names count as two",
                    ),
                    _ => ("tiles and rows", "a tile has elements of several rows"),
                };
                let message = format!("`{handle}` has {parts}, which may be the same");
                let help = "write one of them to another parameter";
                Err(self.report(call, "TW0904", &message, &[note], help))
            }
            Some(_) => Ok(()),
            None => {
                self.owners.push((local, owner));
                Ok(())
            }
        }
    }

    /// The block, or the thread of a phase, if the expression is its name.
    pub(super) fn position(&self, expr: &Expr) -> Option<ir::Expr> {
        let local = self.named(expr)?;
        let ty = self.locals[local.0].ty;
        let is_position = matches!(self.types.shape(ty), Shape::Block | Shape::Thread);
        is_position.then(|| self.expr(Kind::Local(local), ty, expr.span()))
    }

    /// Refuses a reference through which a phase could change the block's variables.
    pub(super) fn no_reference_of_block(
        &mut self,
        word: &syn::Token![mut],
        reference: &syn::ExprReference,
    ) -> Lowered<()> {
        if self.level != Level::Block {
            return Ok(());
        }
        let what = format!("`{}` is taken outside of a phase", text(reference));
        let help = "return the new value from the function, and assign it";
        Err(self.in_block(word, &what, help))
    }

    /// Refuses a change of the block's variables in a phase: on a GPU each thread has its own.
    pub(super) fn no_change_of_block(&mut self, place: &ir::Expr, at: &Expr) -> Lowered<()> {
        let (Level::Phase(first) | Level::Closure(first)) = self.level else { return Ok(()) };
        match root(place) {
            Some(local) if local.0 < first => {
                let what = format!("`{}` is changed in a phase, but belongs to the block", text(at));
                let (block, thread) = (&self.index_name, self.thread_name());
                let mut whole = peel_expr(at);
                while let Expr::Field(field) = whole {
                    whole = peel_expr(&field.base);
                }
                let help = match self.types.shape(self.locals[local.0].ty) {
                    Shape::Private(_) => format!("write the thread's own: `{}[{thread}]`", text(whole)),
                    Shape::Array(..) => format!(
                        "declare it in the phase, with `{block}.private(…)`, of which each thread has its own, or \
                         with `{block}.shared::<[f32; 32]>()`, which `{block}.fill` writes for all threads"
                    ),
                    _ => format!(
                        "declare it in the phase, or with `{block}.private(…)`, of which each thread has its own"
                    ),
                };
                Err(self.in_block(at, &what, &help))
            }
            _ => Ok(()),
        }
    }

    /// Phases and what they share stand where all threads of the block come by.
    pub(super) fn outside_of_phases(&mut self, call: &ExprMethodCall) -> Lowered<()> {
        if self.level == Level::Block {
            return Ok(());
        }
        let what = format!("`{}` is inside of a phase or of a closure", call.method);
        let help = "end the phase before, and begin the next after it";
        Err(self.in_block(call, &what, help))
    }

    pub(super) fn in_block(&mut self, at: impl ToTokens, what: &str, help: &str) -> Reported {
        let notes = [
            "the code outside of phases is the same for all threads of a block; a phase is each thread's own",
        ];
        self.report(at, "TW0911", what, &notes, help)
    }
}

/// The local whose memory a place is in; `None` if it is behind a thread's own.
fn root(place: &ir::Expr) -> Option<LocalId> {
    match &place.kind {
        Kind::Local(local) => Some(*local),
        Kind::Index(base, _) | Kind::Element(base, _) | Kind::Field(base, _) | Kind::Deref(base) => {
            root(base)
        }
        _ => None,
    }
}
