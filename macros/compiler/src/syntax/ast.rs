//! The parts of a pipeline, as it is written.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{Attribute, Expr, ExprArray, ExprClosure, ExprPath, Generics, Path, Token, Type, Visibility};

use crate::text::text;

/// A pipeline as it is written.
pub struct Pipeline {
    /// `#![crate = path]`: where the runtime is, if not at `::thalweg`.
    pub runtime: Option<Path>,
    pub attrs: Vec<Attribute>,
    pub vis: Visibility,
    pub name: Ident,
    /// `<T: Pod, const K: usize>`, with the `where` clause
    pub generics: Generics,
    pub items: Vec<Item>,
}

/// One line of a pipeline.
pub enum Item {
    /// `param name: T;` or `uniform param name: T;`
    Param {
        name: Ident,
        ty: Type,
        uniform: bool,
    },
    /// `input`, `output` or `inout`
    Argument {
        kind: HostKind,
        name: Ident,
        memory: Memory,
        shape: Shape,
    },
    /// `device name: [T; k];` or `host name: [T; k];`
    Scratch {
        name: Ident,
        on_host: bool,
        shape: Shape,
    },
    /// `resident name: [T];` or `resident name: device [T];`
    Resident {
        name: Ident,
        on_device: bool,
        shape: Shape,
    },
    /// `carry name: [T; k];` or `carry name: device [T; k];`, with `= init` or not; `= init combine function`
    Carry {
        name: Ident,
        on_device: bool,
        shape: Shape,
        init: Option<Box<Expr>>,
        combine: Option<Box<Expr>>,
    },
    Chunk {
        keyword: Ident,
        name: Ident,
        size: Size,
    },
    Depth {
        keyword: Ident,
        slots: Size,
    },
    /// `budget = bytes;`
    Budget {
        keyword: Ident,
        bytes: Box<Expr>,
    },
    Stream {
        name: Ident,
        priority: Priority,
        per_slot: bool,
        /// `= null`
        null: bool,
    },
    /// `mode = streams` or `mode = graph`
    Mode {
        keyword: Ident,
        graph: bool,
    },
    /// `sync = auto` or `sync = manual`
    Sync {
        keyword: Ident,
        manual: bool,
    },
    Stage {
        name: Ident,
        stream: Option<Ident>,
        operations: Vec<Operation>,
        /// Kernels of launches that could not be read. Their imports are not unused.
        unread: Vec<ExprPath>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKind {
    Input,
    Output,
    InOut,
}

/// Where an argument's data are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// In host memory, pageable or page-locked.
    Host,
    /// In page-locked host memory.
    Pinned,
    /// In page-locked host memory, where kernels read and write them.
    Mapped,
    /// On the device.
    Device,
}

impl Memory {
    /// Where the data of a `resident` or a `carry` are.
    pub fn shared(on_device: bool) -> Self {
        if on_device { Self::Device } else { Self::Host }
    }
}

/// `[T]` or `[T; k]`, and what may follow.
#[derive(Clone)]
pub struct Shape {
    pub element: Type,
    /// Elements an item, or a chunk where it is `per_chunk`.
    pub per_item: Option<Expr>,
    /// `per chunk`: the tokens
    pub per_chunk: Option<TokenStream>,
    pub halo: Option<Halo>,
}

impl Shape {
    /// `[T]` or `[T; k]`
    pub fn written(&self) -> String {
        let element = text(&self.element);
        match &self.per_item {
            Some(per_item) => format!("[{element}; {}]", text(per_item)),
            None => format!("[{element}]"),
        }
    }

    /// The numbers in it.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.per_item.iter().chain(self.halo.iter().map(|halo| &*halo.items))
    }
}

/// `halo items = edge`
#[derive(Clone)]
pub struct Halo {
    pub keyword: Ident,
    /// On each side of a chunk.
    pub items: Box<Expr>,
    pub edge: Edge,
}

impl Halo {
    /// `halo items = edge`
    pub fn written(&self) -> String {
        let edge = match self.edge {
            Edge::Clamp => "clamp",
            Edge::Zero => "zero",
            Edge::Wrap => "wrap",
        };
        format!("halo {} = {edge}", self.items.to_token_stream())
    }
}

/// The items beyond the first and the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    Clamp,
    Zero,
    Wrap,
}

/// `auto` or an expression.
pub enum Size {
    Auto,
    Given(Box<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    Default,
    High,
    Low,
    Level(i32),
}

/// An operation of a stage.
pub enum Operation {
    Copy(Copy),
    Launch(Box<Launch>),
    Fill(Box<Fill>),
    Call(Box<Invocation>),
    Host(Box<Invocation>),
    Then(Box<Then>),
    Collective(Box<Collective<Part>>),
    Repeat(Box<Repeat>),
    If(Box<If>),
    Record(Record),
    Wait(Wait),
}

/// An operation that all ranks of a world carry out together. `B` is how its buffers are given: by their names
/// as they are written, or resolved.
pub struct Collective<B> {
    pub keyword: Ident,
    pub kind: CollectiveKind,
    /// How the ranks' elements become one, if they do.
    pub reduction: Option<Reduction>,
    pub data: Operands<B>,
    pub to: Addressed,
}

/// The buffers of a collective.
pub enum Operands<B> {
    /// A barrier has none.
    None,
    /// One that is read and written.
    One(B),
    /// One that is read, and one that is written.
    Two(B, B),
}

/// What a collective says besides its buffers.
pub enum Addressed {
    /// Every rank does the same.
    All,
    /// The one rank that gives or gets everything.
    Root(Expr),
    /// From which rank each rank receives, and to which it sends; one of the two may be left out.
    Ranks { from: Option<Box<Expr>>, to: Option<Box<Expr>> },
    /// How many items each rank gets of its neighbours, and whether the first and the last one are neighbours.
    Neighbours { items: Expr, periodic: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectiveKind {
    AllReduce,
    Reduce,
    Broadcast,
    AllGather,
    Gather,
    Scatter,
    ReduceScatter,
    AllToAll,
    Barrier,
    Pass,
    Exchange,
}

/// `sum`, and the word itself.
pub struct Reduction {
    pub word: Ident,
    pub kind: ReductionKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReductionKind {
    Sum,
    Mean,
    Min,
    Max,
    Product,
}

/// `name` or `name[range]`
pub struct Part {
    pub name: Ident,
    pub range: Option<Expr>,
}

/// `call path(args);` or `host path(args);`
pub struct Invocation {
    pub keyword: Ident,
    pub path: ExprPath,
    pub args: Vec<Argument>,
}

/// `then |c| expr;`
pub struct Then {
    pub keyword: Ident,
    pub closure: ExprClosure,
}

/// `repeat n { … }`
pub struct Repeat {
    pub keyword: Ident,
    pub times: Expr,
    pub body: Vec<Operation>,
}

/// `if condition { … } else { … }`
pub struct If {
    pub keyword: Token![if],
    pub condition: Expr,
    pub body: Vec<Operation>,
    pub otherwise: Vec<Operation>,
}

/// `fill buffer = value;`
pub struct Fill {
    pub keyword: Ident,
    pub buffer: Ident,
    pub value: Expr,
}

/// `record event;`
pub struct Record {
    pub keyword: Ident,
    pub event: Ident,
}

/// `wait event;`, `wait event @ previous;` or `wait event @ reuse;`
pub struct Wait {
    pub keyword: Ident,
    pub event: Ident,
    pub of: WaitOf,
}

/// Which chunk's event a wait is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitOf {
    This,
    Previous,
    Reuse,
}

/// `copy from -> to;`
pub struct Copy {
    pub keyword: Ident,
    pub from: Ident,
    pub to: Ident,
}

/// `kernel<<<grid, block, shared, stream>>>(args);`
pub struct Launch {
    /// That of the block around it: the user promises what an `unsafe` kernel asks.
    pub unsafety: Option<Token![unsafe]>,
    pub kernel: ExprPath,
    /// Two to four expressions, if the launch is right.
    pub config: Vec<Expr>,
    pub args: Vec<Argument>,
}

/// An argument of a kernel, a routine or a host function.
pub enum Argument {
    /// `&name`
    Read { and: Token![&], name: Ident },
    /// `&mut name`
    ReadWrite { and: Token![&], name: Ident },
    /// `out name`
    Out { out: Ident, name: Ident },
    /// `&mut name as [rows, columns]` or `out name as [rows, columns]`
    Shaped { buffer: Box<Argument>, keyword: Token![as], shape: ExprArray },
    /// Anything else.
    Scalar(Expr),
}

impl Argument {
    /// The buffer it names.
    pub fn buffer(&self) -> Option<&Ident> {
        match self {
            Self::Read { name, .. } | Self::ReadWrite { name, .. } | Self::Out { name, .. } => Some(name),
            Self::Shaped { buffer, .. } => buffer.buffer(),
            Self::Scalar(_) => None,
        }
    }

    /// The shape that it gives the buffer, and the keyword before it.
    pub fn shape(&self) -> Option<(&Token![as], &ExprArray)> {
        match self {
            Self::Shaped { keyword, shape, .. } => Some((keyword, shape)),
            Self::Read { .. } | Self::ReadWrite { .. } | Self::Out { .. } | Self::Scalar(_) => None,
        }
    }
}

impl CollectiveKind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::AllReduce,
        Self::Reduce,
        Self::Broadcast,
        Self::AllGather,
        Self::Gather,
        Self::Scatter,
        Self::ReduceScatter,
        Self::AllToAll,
        Self::Barrier,
        Self::Pass,
        Self::Exchange,
    ];

    /// The word that it begins with.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::Reduce => "reduce",
            Self::Broadcast => "broadcast",
            Self::AllGather => "all_gather",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "all_to_all",
            Self::Barrier => "barrier",
            Self::Pass => "pass",
            Self::Exchange => "exchange",
        }
    }
}

impl ReductionKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Sum, Self::Mean, Self::Min, Self::Max, Self::Product];

    /// The word that names it.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Min => "min",
            Self::Max => "max",
            Self::Product => "product",
        }
    }
}

impl<B> Operands<B> {
    /// The buffers, in the order in which they are written.
    pub fn iter(&self) -> impl Iterator<Item = &B> {
        let (one, other) = match self {
            Self::None => (None, None),
            Self::One(buffer) => (Some(buffer), None),
            Self::Two(from, to) => (Some(from), Some(to)),
        };
        one.into_iter().chain(other)
    }
}

impl Addressed {
    /// The expressions in it.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (one, other) = match self {
            Self::All => (None, None),
            Self::Root(expr) | Self::Neighbours { items: expr, .. } => (Some(expr), None),
            Self::Ranks { from, to } => (from.as_deref(), to.as_deref()),
        };
        one.into_iter().chain(other)
    }
}

impl ToTokens for Shape {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.element.to_tokens(tokens);
        if let Some(per_item) = &self.per_item {
            per_item.to_tokens(tokens);
        }
    }
}

impl ToTokens for Argument {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Read { and, name } | Self::ReadWrite { and, name } => {
                and.to_tokens(tokens);
                name.to_tokens(tokens);
            }
            Self::Out { out, name } => {
                out.to_tokens(tokens);
                name.to_tokens(tokens);
            }
            Self::Shaped { buffer, keyword, shape } => {
                buffer.to_tokens(tokens);
                keyword.to_tokens(tokens);
                shape.to_tokens(tokens);
            }
            Self::Scalar(expr) => expr.to_tokens(tokens),
        }
    }
}
