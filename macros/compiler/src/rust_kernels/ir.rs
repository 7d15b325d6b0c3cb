//! A kernel's body as the translator sees it: names are resolved, types are [`Ty`], and everything that is
//! not in the language has been reported.

use proc_macro2::Span;

use super::atomics::{Operation, Order};
use super::methods::Method;
use super::named::Held;
use super::types::{Number, Ty};

/// What a function with errors names outside of it.
#[derive(Default)]
pub(super) struct Mentioned {
    pub(super) constants: Vec<syn::ExprPath>,
    pub(super) functions: Vec<syn::ExprPath>,
}

/// A local name of the function: a parameter, a `let`, the variable of a loop or of a pattern.
#[derive(Debug)]
pub(super) struct Local {
    /// Its name in the Rust file.
    pub(super) name: String,
    /// Its unique name in C++.
    pub(super) cpp: String,
    pub(super) ty: Ty,
    pub(super) mutable: bool,
    pub(super) span: Span,
}

/// An index into [`Function::locals`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LocalId(pub(super) usize);

/// A constant outside of the function, or a `#[device]` function: an index into the function's list of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Item(pub(super) usize);

/// A loop, or a block with a label: an index into [`Function::loops`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LoopId(pub(super) usize);

/// What `break` and `continue` may name.
#[derive(Debug)]
pub(super) struct Loop {
    /// Its label, without the mark.
    pub(super) label: String,
    /// A `continue` of a loop inside of it names it.
    pub(super) is_continued: bool,
}

#[derive(Debug)]
pub(super) struct Function {
    /// `const N: usize`
    pub(super) generics: Vec<LocalId>,
    pub(super) parameters: Vec<LocalId>,
    pub(super) locals: Vec<Local>,
    pub(super) result: Ty,
    pub(super) body: Block,
    /// The constants that it names, and their names in C++.
    pub(super) constants: Vec<(syn::ExprPath, String)>,
    /// The `#[device]` functions that it calls, and their names in C++.
    pub(super) callees: Vec<(syn::ExprPath, String)>,
    /// The types of which only rustc knows more than the name, and their names in C++.
    pub(super) named: Vec<(syn::ExprPath, String)>,
    pub(super) closures: Vec<Closure>,
    pub(super) loops: Vec<Loop>,
    /// The arrays in shared memory.
    pub(super) shared: Vec<SharedArray>,
    /// What combining the values of threads needs of shared memory, beside the arrays: so many of each.
    pub(super) scratch: Vec<(u64, Held)>,
    /// The parameters that have as many elements as one before them, and that one.
    pub(super) same_lengths: Vec<(LocalId, LocalId)>,
    pub(super) unchecked: Unchecked,
    /// Whether it names an order of memory other than `Relaxed`.
    pub(super) is_ordered: bool,
}

/// An array in shared memory.
#[derive(Debug)]
pub(super) struct SharedArray {
    pub(super) ty: syn::Type,
    /// The constants and imports of each block around, from the outside in, which its length may name.
    pub(super) items: Vec<proc_macro2::TokenStream>,
}

/// What the types do not show to be right, so that `unsafe` stands in the function.
#[derive(Debug, Default)]
pub(super) struct Unchecked {
    /// The parameters of which any thread takes any element.
    pub(super) scattered: Vec<LocalId>,
    /// Whether that is so of a shared array.
    pub(super) of_shared: bool,
    /// Whether elements are taken without a check.
    pub(super) elements: bool,
}

impl Unchecked {
    /// Whether threads may race.
    pub(super) fn may_race(&self) -> bool {
        self.of_shared || !self.scattered.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct Closure {
    pub(super) parameters: Vec<LocalId>,
    pub(super) result: Ty,
    pub(super) body: Expr,
    /// It has copies of what it captures.
    pub(super) moves: bool,
}

#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) statements: Vec<Statement>,
    /// The block's value, if it has one.
    pub(super) value: Option<Box<Expr>>,
}

#[derive(Debug)]
pub(super) enum Statement {
    /// `let x;`
    Declare(LocalId),
    /// `let pattern = value;`
    Let(Pattern, Expr),
    /// `let Some(x) = value else { … };`
    LetElse(Variant, LocalId, Expr, Block),
    /// A constant inside of the function.
    Const(LocalId, Expr),
    /// An expression whose value is dropped.
    Expr(Expr),
}

/// A pattern that always matches.
#[derive(Debug)]
pub(super) enum Pattern {
    Name(LocalId),
    Wild,
    /// A tuple.
    Tuple(Vec<Pattern>),
    /// An array.
    Array(Vec<Pattern>),
    /// The fields of a struct, under their names in C++.
    Struct(Vec<(String, Pattern)>),
}

impl Pattern {
    /// Calls `found` for each name.
    pub(super) fn names(&self, found: &mut impl FnMut(LocalId)) {
        match self {
            Self::Name(name) => found(*name),
            Self::Wild => {}
            Self::Tuple(parts) | Self::Array(parts) => parts.iter().for_each(|part| part.names(found)),
            Self::Struct(fields) => fields.iter().for_each(|(_, part)| part.names(found)),
        }
    }
}

#[derive(Debug)]
pub(super) struct Expr {
    pub(super) kind: Kind,
    pub(super) ty: Ty,
    /// The line in the Rust file.
    pub(super) line: usize,
    /// Where it stands, for errors that are found later.
    pub(super) span: Span,
}

#[derive(Debug)]
pub(super) enum Kind {
    Integer(u128),
    /// The digits, without suffix and underscores.
    Float(String),
    Bool(bool),
    /// A literal that gets its type from the parameter of a `#[device]` function.
    Bare(String),
    Unit,
    Local(LocalId),
    Constant(Item),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Compare(&'static str, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Cast(Box<Expr>),
    Assign(Box<Expr>, Box<Expr>),
    AssignBinary(Binary, Box<Expr>, Box<Expr>),
    /// `(a, [b, c]) = value`: tuples and arrays of places.
    AssignParts(Box<Expr>, Box<Expr>),
    Index(Box<Expr>, Box<Expr>),
    /// An element that is known to exist.
    Element(Box<Expr>, Box<Expr>),
    /// `&x[from..to]`
    Part(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>, bool),
    Field(Box<Expr>, String),
    Tuple(Vec<Expr>),
    Array(Vec<Expr>),
    /// The fields, under their names in C++, and what the others are taken of.
    Struct(Vec<(String, Expr)>, Option<Box<Expr>>),
    /// The value, and the length in C++.
    Repeat(Box<Expr>, String),
    Ref(Box<Expr>),
    Deref(Box<Expr>),
    If(Box<Condition>, Block, Option<Box<Expr>>),
    Match(Box<Expr>, Vec<Arm>),
    Block(Block),
    /// `'a: { … }`
    Labelled(LoopId, Block),
    Loop(LoopId, Block),
    While(LoopId, Box<Condition>, Block),
    For(LoopId, LocalId, Box<Range>, Block),
    /// The thread's part of a tile: the type says the rest.
    PartOfTile(Box<Expr>),
    /// A loop over a block's tiles of a parameter's data.
    ForTiles(LoopId, LocalId, Box<Expr>, Block),
    /// What is left, and the value that it has then.
    Break(LoopId, Option<Box<Expr>>),
    Continue(LoopId),
    Return(Option<Box<Expr>>),
    /// A call of a `#[device]` function, with the generic arguments in C++ that are written.
    Call(Item, Vec<String>, Vec<Expr>),
    /// A call of a closure that a `let` has named.
    CallClosure(LocalId, Vec<Expr>),
    Closure(usize),
    Method(Method, Box<Expr>, Vec<Expr>),
    /// A method of an atomic: its orders, the atomic, and the numbers.
    Atomic(&'static Operation, Vec<Order>, Box<Expr>, Vec<Expr>),
    /// `f32::from_bits(x)`, `u64::from(x)`
    Convert(&'static str, Number, Box<Expr>),
    /// `assert!` with the condition, and `panic!` without.
    Assert(Option<Box<Expr>>),
    /// A function of the header without arguments.
    Builtin(&'static str),
    /// `block.shared::<T>()`, and how much longer than the type says a row is: the type says the rest.
    NewShared(Option<String>),
    /// `block.shared_slice::<T>(n)`: the slice before it in the same memory, and the length.
    NewSharedSlice(Option<LocalId>, Box<Expr>),
    /// `block.private(start)`
    NewPrivate(Box<Expr>),
    /// `sums[t]`: the thread's own of a private variable.
    Mine(Box<Expr>),
    Phase(Box<Phase>),
    /// `sums.put(block.index(), value)`
    Put(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// A phase of a block: closures that its threads run, and a barrier.
#[derive(Debug)]
pub(super) enum Phase {
    Each(usize),
    /// What is written, and the closure that gives its elements.
    Fill(Filled, usize),
    /// A shared array, and the closure that gives its elements, of which threads beside each other have a column's.
    FillColumns(LocalId, usize),
    /// The first half of a fill: the type of the array, the closure that gives its elements, and whether threads may
    /// write what it reads in the next phase.
    Fetch {
        of: Ty,
        closure: usize,
        in_order: bool,
    },
    /// The second half: a shared array, and what was fetched for it.
    FillFetched(LocalId, Expr),
    /// A tile, and the closure that gives the part of a thread.
    FillParts(Filled, usize),
    /// The values, and how two are combined.
    Reduce(usize, usize),
    /// What the first thread has before it, if a thread's own value does not count; the values, and how two are
    /// combined.
    Scan(Option<Expr>, usize, usize),
    /// An operation of each warp, its closures, and how far it goes.
    Warps(&'static str, Vec<usize>, Option<Expr>),
    Any(usize),
    Count(usize),
}

/// What a block fills.
#[derive(Debug)]
pub(super) enum Filled {
    Shared(LocalId),
    /// A parameter's data, and a tile of the block.
    Tile(Expr, Expr),
    /// A parameter's data, and a row of the block.
    Row(Expr, Expr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unary {
    Negate,
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    /// A division of natural numbers by one that is known not to be 0.
    Quotient,
    /// Its remainder.
    Rest,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Debug)]
pub(super) enum Condition {
    Is(Expr),
    /// `let Some(x) = value`
    Bound(Variant, LocalId, Expr),
    /// Several, with `&&` between them.
    All(Vec<Condition>),
}

/// The variant that a pattern takes the value out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variant {
    Some,
    /// It is an outcome of an exchange of an atomic.
    Ok,
    Err,
}

impl Condition {
    /// The conditions that it consists of, in the order in which they are asked.
    pub(super) fn parts(&self) -> &[Self] {
        match self {
            Self::All(parts) => parts,
            one => std::slice::from_ref(one),
        }
    }

    pub(super) fn parts_mut(&mut self) -> &mut [Self] {
        match self {
            Self::All(parts) => parts,
            one => std::slice::from_mut(one),
        }
    }
}

#[derive(Debug)]
pub(super) struct Arm {
    pub(super) test: Test,
    /// The name that the whole value gets.
    pub(super) name: Option<LocalId>,
    pub(super) guard: Option<Expr>,
    pub(super) body: Expr,
}

/// What a `match` compares a value with.
#[derive(Debug)]
pub(super) enum Test {
    Always,
    Equal(Expr),
    /// From the first to the second, which is included or not.
    Within(Option<Expr>, Option<Expr>, bool),
    Any(Vec<Test>),
}

/// What a `for` goes over.
#[derive(Debug)]
pub(super) struct Range {
    pub(super) from: Expr,
    pub(super) to: Expr,
    pub(super) inclusive: bool,
    pub(super) reversed: bool,
    /// The argument of `step_by`, a `usize`.
    pub(super) step: Option<Expr>,
    /// Whether it is known that a step from below the end does not overflow.
    pub(super) fits: bool,
    pub(super) unroll: Option<Unroll>,
}

/// How many turns of a loop a compiler is to write one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unroll {
    Whole,
    By(u32),
}
