//! Whether an expression has the same value on all ranks.
//!
//! What is uniform is known by form alone: literals, constants, `uniform param`s, `world.size` and the number of
//! the chunk, and what operators and methods of numbers make of these. Anything else might depend on the process
//! that evaluates it. Whether a name that is no parameter is a constant is seen by rustc: see [`constants`].

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprCall, ExprField, ExprMethodCall, ExprPath, Member, Stmt, UnOp};

use crate::resolve::{Program, named};

/// Methods of numbers, ranges and conditions whose results depend on their operands alone.
const METHODS: [&str; 41] = [
    "abs",
    "abs_diff",
    "ceil",
    "checked_add",
    "checked_mul",
    "checked_sub",
    "clamp",
    "contains",
    "count_ones",
    "count_zeros",
    "div_ceil",
    "div_euclid",
    "floor",
    "ilog10",
    "ilog2",
    "is_multiple_of",
    "is_power_of_two",
    "isqrt",
    "leading_zeros",
    "log2",
    "max",
    "min",
    "next_multiple_of",
    "next_power_of_two",
    "pow",
    "powi",
    "rem_euclid",
    "round",
    "saturating_add",
    "saturating_mul",
    "saturating_pow",
    "saturating_sub",
    "sqrt",
    "then_some",
    "trailing_ones",
    "trailing_zeros",
    "trunc",
    "unsigned_abs",
    "wrapping_add",
    "wrapping_mul",
    "wrapping_sub",
];

/// The first part of an expression that may differ between ranks.
pub(super) struct Doubt {
    /// Its tokens.
    pub(super) at: TokenStream,
    pub(super) why: Why,
}

/// Why a part of an expression may differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It is the rank.
    Rank,
    /// It is a parameter, which each rank is given for itself.
    Param(Ident),
    /// It is the chunk, whose length and place may differ.
    Chunk,
    /// It is of a form of which nothing is known.
    Unknown(&'static str),
}

/// The names in uniform expressions that have to be constants.
pub(crate) fn constants<'p>(program: &'p Program, exprs: &[&'p Expr]) -> Vec<&'p ExprPath> {
    let mut constants = Constants { program, found: Vec::new() };
    exprs.iter().for_each(|expr| constants.visit_expr(expr));
    constants.found
}

struct Constants<'p> {
    program: &'p Program,
    found: Vec<&'p ExprPath>,
}

impl<'p> Visit<'p> for Constants<'p> {
    fn visit_expr_path(&mut self, path: &'p ExprPath) {
        let is_known = path.path.get_ident().is_some_and(|name| {
            let mut known =
                self.program.params.iter().map(|param| &param.name).chain(&self.program.chunk.name);
            name == "rank" || name == "world" || name == "None" || known.any(|known| known == name)
        });
        if !is_known && !self.found.contains(&path) {
            self.found.push(path);
        }
    }

    fn visit_expr_call(&mut self, call: &'p ExprCall) {
        if is_some(&call.func) {
            call.args.iter().for_each(|arg| self.visit_expr(arg));
        } else {
            visit::visit_expr_call(self, call);
        }
    }
}

/// What expressions may name.
pub(super) struct Uniform<'p> {
    program: &'p Program,
    /// Whether `rank` is any rank, and not the one that evaluates the expression.
    asks: bool,
}

impl<'p> Uniform<'p> {
    /// For expressions that each rank evaluates for itself.
    pub(super) fn new(program: &'p Program) -> Self {
        Self { program, asks: false }
    }

    /// For those of a `pass`, which each rank evaluates for all.
    pub(super) fn asking(program: &'p Program) -> Self {
        Self { program, asks: true }
    }

    /// What may differ; none if the value is the same on all ranks.
    pub(super) fn doubt(&self, expr: &Expr) -> Option<Doubt> {
        let rank = self.rank(expr).map(|at| Doubt { at, why: Why::Rank });
        rank.or_else(|| self.first(expr))
    }

    /// The place where an expression names the rank that evaluates it, in macros and functions too.
    fn rank(&self, expr: &Expr) -> Option<TokenStream> {
        let declared = |name: &str| self.program.params.iter().any(|param| param.name == name);
        let mut of_world = named(expr, "world").into_iter().filter(|_| !self.program.declares_world());
        let of_world = of_world.find_map(|world| {
            let field = world.field.filter(|field| field == "rank")?;
            let name = world.name;
            Some(quote!(#name.#field))
        });
        let alone = || named(expr, "rank").into_iter().next().map(|rank| rank.name.into_token_stream());
        of_world.or_else(|| alone().filter(|_| !self.asks && !declared("rank")))
    }

    /// The first doubt in the order of the tokens.
    fn first(&self, expr: &Expr) -> Option<Doubt> {
        let unknown =
            |what: &'static str| Some(Doubt { at: expr.to_token_stream(), why: Why::Unknown(what) });
        match expr {
            Expr::Lit(_) => None,
            Expr::Path(path) => path.path.get_ident().and_then(|name| self.variable(name)),
            Expr::Paren(inner) => self.first(&inner.expr),
            Expr::Group(inner) => self.first(&inner.expr),
            Expr::Cast(cast) => self.first(&cast.expr),
            Expr::Reference(of) if of.mutability.is_none() => self.first(&of.expr),
            // A pointer may lead to anything.
            Expr::Unary(unary) if !matches!(unary.op, UnOp::Deref(_)) => self.first(&unary.expr),
            Expr::Binary(both) if !assigns(&both.op) => {
                self.first(&both.left).or_else(|| self.first(&both.right))
            }
            Expr::Tuple(tuple) => tuple.elems.iter().find_map(|elem| self.first(elem)),
            Expr::Array(array) => array.elems.iter().find_map(|elem| self.first(elem)),
            Expr::Repeat(repeat) => self.first(&repeat.expr).or_else(|| self.first(&repeat.len)),
            Expr::Index(index) => self.first(&index.expr).or_else(|| self.first(&index.index)),
            Expr::Range(range) => range.start.iter().chain(&range.end).find_map(|bound| self.first(bound)),
            Expr::Field(field) => self.field(field),
            Expr::MethodCall(call) => self.method(call),
            Expr::Call(call) if is_some(&call.func) => call.args.iter().find_map(|arg| self.first(arg)),
            Expr::Call(_) => unknown("a function"),
            Expr::Macro(_) => unknown("a macro"),
            Expr::Closure(_) => unknown("a closure"),
            Expr::If(choice) => match (only(&choice.then_branch), &choice.else_branch) {
                (Some(then), Some((_, otherwise))) => {
                    let otherwise = match &**otherwise {
                        Expr::Block(block) if block.label.is_none() => only(&block.block),
                        other => Some(other),
                    };
                    let Some(otherwise) = otherwise else { return unknown("a block") };
                    [&*choice.cond, then, otherwise].into_iter().find_map(|part| self.first(part))
                }
                _ => unknown("a block"),
            },
            Expr::Block(_) | Expr::Match(_) | Expr::Loop(_) | Expr::Unsafe(_) => unknown("a block"),
            _ => unknown("this"),
        }
    }

    fn variable(&self, name: &Ident) -> Option<Doubt> {
        let doubt = |why| Some(Doubt { at: name.to_token_stream(), why });
        if name == "rank" && self.asks {
            return None;
        }
        if let Some(param) = self.program.params.iter().find(|param| param.name == *name) {
            return if param.uniform { None } else { doubt(Why::Param(param.name.clone())) };
        }
        if self.program.chunk.name.as_ref() == Some(name) { doubt(Why::Chunk) } else { None }
    }

    /// Whether an expression is the world itself. rustc knows its fields.
    fn is_world(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Path(path) if path.path.is_ident("world")) && !self.program.declares_world()
    }

    /// `world.size` and `c.index`. A field of anything else may lie behind a pointer.
    fn field(&self, field: &ExprField) -> Option<Doubt> {
        let doubt = |why| Some(Doubt { at: field.to_token_stream(), why });
        let of = match &*field.base {
            Expr::Path(path) => path.path.get_ident(),
            _ => None,
        };
        let is = |name: &str| matches!(&field.member, Member::Named(member) if member == name);
        match of {
            Some(name) if self.program.chunk.name.as_ref() == Some(name) => {
                if is("index") {
                    None
                } else {
                    doubt(Why::Chunk)
                }
            }
            // That of the rank was found before.
            _ if self.is_world(&field.base) => None,
            _ => self.first(&field.base).or_else(|| doubt(Why::Unknown("a field"))),
        }
    }

    fn method(&self, call: &ExprMethodCall) -> Option<Doubt> {
        let is_of_a_number = METHODS.iter().any(|known| call.method == known) && call.turbofish.is_none();
        let known = is_of_a_number || self.is_world(&call.receiver);
        let at = || Doubt { at: call.method.to_token_stream(), why: Why::Unknown("a method") };
        let receiver = self.first(&call.receiver).or_else(|| (!known).then(at));
        receiver.or_else(|| call.args.iter().find_map(|arg| self.first(arg)))
    }
}

/// Whether a function is the variant `Some`.
fn is_some(function: &Expr) -> bool {
    matches!(function, Expr::Path(path) if path.path.is_ident("Some"))
}

/// The expression that is all of a block.
fn only(block: &syn::Block) -> Option<&Expr> {
    match block.stmts.as_slice() {
        [Stmt::Expr(expr, None)] => Some(expr),
        _ => None,
    }
}

fn assigns(op: &BinOp) -> bool {
    !matches!(
        op,
        BinOp::Add(_)
            | BinOp::Sub(_)
            | BinOp::Mul(_)
            | BinOp::Div(_)
            | BinOp::Rem(_)
            | BinOp::And(_)
            | BinOp::Or(_)
            | BinOp::BitXor(_)
            | BinOp::BitAnd(_)
            | BinOp::BitOr(_)
            | BinOp::Shl(_)
            | BinOp::Shr(_)
            | BinOp::Eq(_)
            | BinOp::Lt(_)
            | BinOp::Le(_)
            | BinOp::Ne(_)
            | BinOp::Ge(_)
            | BinOp::Gt(_)
    )
}
