//! From syntax to the translator's own form: names are resolved, types are inferred on the way, and whatever
//! is not in the language is an error at its token.

mod absent;
mod assignments;
mod atomics;
mod calls;
mod context;
mod elements;
mod expressions;
mod fetched;
mod from_cuda;
mod iteration;
mod jumps;
mod literals;
mod macros;
mod options;
mod patterns;
mod phases;
mod scans;
mod scope;
mod shared_arrays;
mod shared_slices;
mod statements;
mod statics;
mod structures;
mod tiles;
mod types;
mod unchecked;
mod warps;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::{ExprPath, Lit};

use super::errors::{Errors, error};
use super::ir::{
    Closure, Expr, Function, Item, Kind, Local, LocalId, Loop, Mentioned, SharedArray, Unchecked,
};
use super::named::Assumed;
use super::names::Names;
use super::pins::Pins;
use super::signature::{Parameter, Signature};
use super::types::{Literal, Number, Shape, Ty, Types, is_exact};
use context::{Around, Level, Meaning, Name, Owner, Turns};
pub(super) use structures::{Structure, structure};

/// The error was reported.
pub(super) struct Reported;

type Lowered<T = Expr> = Result<T, Reported>;

/// A literal without a suffix: where it stands in the function, and its type.
pub(super) struct Suffix {
    /// The address of the literal in the syntax tree, which is not changed between its visit and its mend.
    pub(super) address: usize,
    pub(super) ty: Ty,
    span: Span,
    text: String,
}

/// A function in the translator's form.
pub(super) struct Translated {
    pub(super) function: Function,
    pub(super) types: Types,
    pub(super) suffixes: Vec<Suffix>,
    /// The types that must be numbers, and where they are used as such.
    pub(super) numbers: Vec<(Ty, Span)>,
    /// The same of those that must be arrays.
    pub(super) arrays: Vec<(Ty, Span)>,
    /// What names seem to mean, as far as names tell.
    pub(super) assumed: Vec<Assumed>,
    /// The functions to which literals without a type are passed, and where.
    pub(super) bare: Vec<(ExprPath, Span)>,
    /// The names that it uses in C++.
    pub(super) names: Names,
    /// What is written into the function, so that rustc takes names as C++ does.
    pub(super) pins: Pins,
}

/// Lowers a function whose signature was read. If it has errors, the result is what it names outside of it.
pub(super) fn lower(
    function: &syn::ItemFn,
    signature: &Signature,
    errors: &mut Errors,
) -> Result<Translated, Mentioned> {
    let before = errors.len();
    let mut lower = Lower::new(&function.sig.ident, errors);
    if let Some(first) = signature.parameters.first() {
        lower.index_name = first.name.to_string();
    }
    lower.level = if signature.is_in_blocks() { Level::Block } else { Level::Thread };
    lower.parameters = signature.parameters.len();
    lower.axes = signature.dimensions;
    lower.threads = signature.threads;
    let usize = lower.types.number(Number::Usize);
    let generics = signature.constants.iter().map(|name| lower.declare(name, usize, false)).collect();
    let parameters = signature.parameters.iter().map(|parameter| lower.parameter(parameter)).collect();
    let result = match &function.sig.output {
        syn::ReturnType::Default => lower.types.unit(),
        // The body may have errors, too.
        syn::ReturnType::Type(_, ty) => {
            lower.ty(ty).unwrap_or_else(|Reported| lower.types.add(Shape::Reported))
        }
    };
    lower.result = Some(result);
    let body = lower.block(&function.block);
    if let Ok(body) = &body {
        if let Some(value) = &body.value {
            lower.types.unify(value.ty, result);
        }
        lower.types.default_literals();
        lower.undecided();
        lower.unfollowed_orders();
    }
    let is_ordered = lower.first_order().is_some();
    let Lower { errors, types, locals, constants, callees, named, closures, loops, suffixes, .. } = lower;
    let (names, shared, numbers, pins) = (lower.names, lower.shared, lower.numbers, lower.pins);
    let arrays = lower.arrays;
    let (orders, assumed, bare, unchecked) = (lower.orders, lower.assumed, lower.bare, lower.unchecked);
    let mut scratch = Vec::new();
    lower.scratch.iter().for_each(|&(ty, values)| types.held(ty, values, &mut scratch));
    let body = match body {
        Ok(body) if errors.len() == before => body,
        _ => {
            let is_named = |(number, _): &(usize, _)| !lower.changed.contains(number);
            let constants = constants.into_iter().enumerate().filter(is_named).map(|(_, (path, _))| path);
            let constants = constants.chain(orders).collect();
            let functions = callees.into_iter().map(|(path, _)| path).collect();
            return Err(Mentioned { constants, functions });
        }
    };
    let function = Function {
        generics,
        parameters,
        locals,
        result,
        body,
        constants,
        callees,
        named,
        closures,
        loops,
        shared,
        scratch,
        same_lengths: Vec::new(),
        unchecked,
        is_ordered,
    };
    Ok(Translated { function, types, suffixes, numbers, arrays, assumed, bare, names, pins })
}

struct Lower<'e> {
    errors: &'e mut Errors,
    types: Types,
    locals: Vec<Local>,
    /// The names in scope, the innermost last.
    scope: Vec<(Name, Meaning)>,
    names: Names,
    constants: Vec<(ExprPath, String)>,
    /// Those of them that the function changes: statics, which only `unsafe` code may name.
    changed: Vec<usize>,
    callees: Vec<(ExprPath, String)>,
    /// The types of which only rustc knows more than the name.
    named: Vec<(ExprPath, String)>,
    closures: Vec<Closure>,
    suffixes: Vec<Suffix>,
    numbers: Vec<(Ty, Span)>,
    arrays: Vec<(Ty, Span)>,
    assumed: Vec<Assumed>,
    bare: Vec<(ExprPath, Span)>,
    pins: Pins,
    /// The locals that are constants.
    constant_locals: Vec<LocalId>,
    /// The type that `return` gives; `None` in a closure's body until it is known.
    result: Option<Ty>,
    own_name: syn::Ident,
    /// The first parameter's name, as the user writes it.
    index_name: String,
    loops: Vec<Loop>,
    /// The loops around, within the innermost closure.
    around: Vec<Around>,
    /// The threads that run the code.
    level: Level,
    /// The number of parameters, which are the first locals.
    parameters: usize,
    /// The shared arrays.
    shared: Vec<SharedArray>,
    /// The constants and imports of each block around.
    items: Vec<TokenStream>,
    /// How many values of a type lie in shared memory while those of threads are combined.
    scratch: Vec<(Ty, u64)>,
    /// The shared arrays with padding.
    padded: Vec<LocalId>,
    /// The axes of the data that have a shape, and of the grid.
    axes: usize,
    /// The threads of a block, if all launches have as many.
    threads: Option<u32>,
    /// The orders of memory that it names.
    orders: Vec<ExprPath>,
    /// What matters to whether a loop waits for another thread.
    turns: Turns,
    unchecked: Unchecked,
    /// What is lowered combines values of several threads.
    combines: bool,
    /// Whose elements the parameters of a kernel in blocks have.
    owners: Vec<(LocalId, Owner)>,
}

impl<'e> Lower<'e> {
    fn new(name: &syn::Ident, errors: &'e mut Errors) -> Self {
        let mut names = Names::default();
        names.reserve(&name.to_string());
        Self {
            errors,
            types: Types::default(),
            locals: Vec::new(),
            scope: Vec::new(),
            names,
            constants: Vec::new(),
            changed: Vec::new(),
            callees: Vec::new(),
            named: Vec::new(),
            closures: Vec::new(),
            suffixes: Vec::new(),
            numbers: Vec::new(),
            arrays: Vec::new(),
            assumed: Vec::new(),
            bare: Vec::new(),
            pins: Pins::default(),
            constant_locals: Vec::new(),
            result: None,
            own_name: name.clone(),
            index_name: "i".to_owned(),
            loops: Vec::new(),
            around: Vec::new(),
            level: Level::Thread,
            parameters: 0,
            owners: Vec::new(),
            shared: Vec::new(),
            items: Vec::new(),
            scratch: Vec::new(),
            padded: Vec::new(),
            axes: 1,
            threads: None,
            orders: Vec::new(),
            turns: Turns::default(),
            unchecked: Unchecked::default(),
            combines: false,
        }
    }
}

impl Lower<'_> {
    fn report(
        &mut self,
        at: impl ToTokens,
        code: &str,
        message: &str,
        notes: &[&str],
        help: &str,
    ) -> Reported {
        let notes: Vec<_> = notes.iter().map(|&note| note.to_owned()).collect();
        self.errors.push(error(at, code, message, &notes, Some(help.to_owned())));
        Reported
    }

    /// The error of something that kernels do not have.
    fn absent(&mut self, at: impl ToTokens, what: &str, help: &str) -> Reported {
        self.absent_since(at, what, &[], help)
    }

    /// The same, with the reason.
    fn absent_since(&mut self, at: impl ToTokens, what: &str, why: &[&str], help: &str) -> Reported {
        let message = format!("{what} is not in the language of kernels");
        self.report(at, "TW0901", &message, why, help)
    }

    fn parameter(&mut self, parameter: &Parameter) -> LocalId {
        let ty = parameter.kind.ty(self);
        self.declare(&parameter.name, ty, parameter.mutable)
    }

    /// The constant of this path, which only rustc knows.
    fn constant(&mut self, path: &ExprPath) -> Item {
        let path = self.outside(path);
        Self::item(&mut self.constants, &mut self.names, path)
    }

    fn callee(&mut self, path: &ExprPath) -> Item {
        let path = self.outside(path);
        Self::item(&mut self.callees, &mut self.names, path)
    }

    fn item(items: &mut Vec<(ExprPath, String)>, names: &mut Names, path: ExprPath) -> Item {
        let text = |path: &ExprPath| path.to_token_stream().to_string();
        if let Some(known) = items.iter().position(|(known, _)| text(known) == text(&path)) {
            return Item(known);
        }
        let last = path.path.segments.iter().rev().take(2).map(|segment| segment.ident.to_string());
        let mut last: Vec<_> = last.collect();
        // `f32::MAX` is more than a `MAX`.
        if last.get(1).is_none_or(|ty| Number::named(ty).is_none()) {
            last.truncate(1);
        }
        last.reverse();
        items.push((path, names.unique(&last.join("_"))));
        Item(items.len() - 1)
    }

    /// Notes that a value is used as a number. Of a type that only rustc knows, it is rustc that sees to it.
    fn number(&mut self, ty: Ty, span: Span) {
        self.numbers.push((ty, span));
    }

    /// The same of a value that is used as an array.
    fn array_of(&mut self, ty: Ty, span: Span) {
        self.arrays.push((ty, span));
    }

    fn expr(&self, kind: Kind, ty: Ty, span: Span) -> Expr {
        Expr { kind, ty, line: span.start().line, span }
    }

    /// Notes a literal that gets its type from elsewhere.
    fn literal(&mut self, literal: &Lit, kind: Literal) -> Ty {
        let ty = self.types.literal(kind);
        let address = std::ptr::from_ref(literal).addr();
        let text = literal.to_token_stream().to_string();
        self.suffixes.push(Suffix { address, ty, span: literal.span(), text });
        ty
    }

    /// Reports literals whose type depends on what only rustc knows. Of those that have the same type one is
    /// enough: if its type is written, the others have it.
    fn undecided(&mut self) {
        let mut unknown: Vec<&Suffix> = Vec::new();
        for suffix in &self.suffixes {
            let is_new = unknown.iter().all(|known| !self.types.are_same(known.ty, suffix.ty));
            let is_open = match self.types.shape(suffix.ty) {
                Shape::Unknown(_) => true,
                Shape::Named(_) => !is_exact(&suffix.text),
                _ => false,
            };
            if is_new && is_open {
                unknown.push(suffix);
            }
        }
        let found: Vec<_> = unknown.into_iter().map(|suffix| (suffix.span, suffix.text.clone())).collect();
        for (span, text) in found {
            let at = syn::Ident::new("_at", span);
            let notes =
                ["it follows from a function or a constant elsewhere, whose type `#[kernel]` cannot see"];
            let help = match text.contains('.') {
                true => format!("write `{text}_f32` or `{text}_f64`").replace("._", ".0_"),
                false => format!("write its type, such as `{text}_u32`"),
            };
            self.report(at, "TW0903", "the type of this literal must be written", &notes, &help);
        }
    }
}
