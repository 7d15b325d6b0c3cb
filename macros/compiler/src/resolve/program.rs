//! [`Program`]: a pipeline whose names are resolved.

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::{Attribute, Expr, ExprClosure, ExprPath, Generics, Path, Type, Visibility};

use crate::syntax::{HostKind, Priority, Shape, Size, WaitOf};

/// A pipeline whose names are resolved. Immutable from here on.
pub struct Program {
    pub runtime: Path,
    pub attrs: Vec<Attribute>,
    pub vis: Visibility,
    pub name: Ident,
    pub generics: Generics,
    pub params: Vec<Param>,
    pub hosts: Vec<HostData>,
    pub buffers: Vec<Buffer>,
    pub streams: Vec<Stream>,
    pub stages: Vec<Stage>,
    /// In the order in which they are written, stage by stage.
    pub operations: Vec<Operation>,
    /// `if`s and `repeat`s, outer ones before those inside.
    pub blocks: Vec<Block>,
    pub chunk: Chunk,
    pub depth: Size,
    /// Bytes of device memory that the ring may take.
    pub budget: Option<Box<Expr>>,
    pub sync: Sync,
    /// `mode = graph`
    pub graph: bool,
    /// `run`'s arguments, in the order of declaration.
    pub arguments: Vec<Argument>,
}

/// Whether the macro or the user places the events.
pub enum Sync {
    Auto,
    /// The user, in this order.
    Manual(Vec<Mark>),
}

/// A `record` or `wait`.
pub struct Mark {
    pub stage: StageId,
    pub stream: StreamId,
    pub keyword: Ident,
    pub event: Ident,
    pub kind: MarkKind,
    /// The `if` or `repeat` that it stands in.
    pub block: Option<BlockId>,
    /// How many operations stand before it.
    pub position: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkKind {
    Record,
    Wait(WaitOf),
}

/// One argument of `run`.
#[derive(Debug, Clone, Copy)]
pub enum Argument {
    Param(usize),
    Host(HostId),
    /// A `resident`, a `carry`, or data that are used in place.
    Buffer(BufferId),
}

pub struct Param {
    pub name: Ident,
    pub ty: Type,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostId(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferId(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamId(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageId(pub usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockId(pub usize);

/// Host data that copies move to and from the device.
pub struct HostData {
    pub kind: HostKind,
    pub name: Ident,
    /// Whether it must be page-locked.
    pub pinned: bool,
    pub shape: Shape,
}

pub struct Buffer {
    pub name: Ident,
    pub shape: Shape,
    pub kind: BufferKind,
}

/// Whose a buffer's memory is.
pub enum BufferKind {
    /// Each ring slot has one, on the device.
    Ring,
    /// Each ring slot has one, in page-locked host memory.
    HostScratch,
    /// One for the run, read only; an argument of `run`, copied to the device or there already.
    Resident { on_device: bool },
    /// One for the run, handed from chunk to chunk; an argument of `run`, copied to the device or there
    /// already. `combine` makes the results of several devices, or [ring slots](Program::is_per_slot), one.
    Carry { on_device: bool, init: Option<Box<Expr>>, combine: Option<Box<Expr>> },
    /// An argument of `run` that each chunk uses its part of, where it is.
    InPlace { kind: HostKind, mapped: bool },
}

impl Buffer {
    /// Whether there is one for the whole run.
    pub fn is_shared(&self) -> bool {
        matches!(self.kind, BufferKind::Resident { .. } | BufferKind::Carry { .. })
    }

    /// How it is an argument of `run`, if each chunk uses its part of the argument.
    pub fn in_place(&self) -> Option<HostKind> {
        match self.kind {
            BufferKind::InPlace { kind, .. } => Some(kind),
            _ => None,
        }
    }

    /// Whether it is in device memory.
    pub fn is_on_device(&self) -> bool {
        !matches!(self.kind, BufferKind::HostScratch | BufferKind::InPlace { mapped: true, .. })
    }
}

pub struct Stream {
    pub name: Ident,
    pub priority: Priority,
    pub per_slot: bool,
    /// Whether it is the legacy default stream.
    pub null: bool,
    /// Whether it has a declaration; a stage that names no stream gets its own.
    pub declared: bool,
}

pub struct Stage {
    pub name: Ident,
    /// The stream of its events, and of each launch that names no other. None if it names one that is not
    /// known.
    pub stream: Option<StreamId>,
}

pub struct Chunk {
    /// `c`, if there is a declaration.
    pub name: Option<Ident>,
    pub size: Size,
}

pub struct Operation {
    pub stage: StageId,
    pub stream: StreamId,
    /// Where it begins.
    pub at: Span,
    /// As the user knows it: `copy x -> dx`.
    pub text: String,
    /// The innermost `if` or `repeat` that it stands in.
    pub block: Option<BlockId>,
    pub kind: OperationKind,
}

/// An `if` or a `repeat`.
pub struct Block {
    /// The one that it stands in.
    pub parent: Option<BlockId>,
    pub stage: StageId,
    pub kind: BlockKind,
}

pub enum BlockKind {
    If(Box<Expr>),
    /// The `else` of an `if`.
    Else(BlockId),
    Repeat(Box<Expr>),
}

pub enum OperationKind {
    Upload {
        from: HostId,
        to: BufferId,
        names: CopyNames,
    },
    Download {
        from: BufferId,
        to: HostId,
        names: CopyNames,
    },
    CopyBuffer {
        from: BufferId,
        to: BufferId,
        names: CopyNames,
    },
    Fill(Box<Fill>),
    Launch(Box<Launch>),
    /// A routine that enqueues on the stream.
    Call(Box<Invocation>),
    /// A function on the CPU, on page-locked memory.
    Host(Box<Invocation>),
    Then(Box<ExprClosure>),
}

/// `path(args)`
pub struct Invocation {
    pub path: ExprPath,
    pub args: Vec<CallArgument>,
}

/// `fill buffer = value`
pub struct Fill {
    pub buffer: BufferId,
    /// The buffer's name as it is written there.
    pub name: Ident,
    pub value: Expr,
}

/// The two names of a copy as they are written there.
pub struct CopyNames {
    pub from: Ident,
    pub to: Ident,
}

pub struct Launch {
    /// It stands in an `unsafe` block.
    pub unsafety: Option<syn::Token![unsafe]>,
    pub kernel: ExprPath,
    pub grid: Expr,
    pub block: Expr,
    pub shared: Option<Expr>,
    pub args: Vec<CallArgument>,
}

/// An argument of a launch, a `call` or a `host` function.
pub enum CallArgument {
    /// `&name`, `&mut name` or `out name`, with those tokens.
    Buffer { buffer: BufferId, mode: Mode, written: crate::syntax::Argument },
    /// Any other expression.
    Scalar(Expr),
}

/// How a launch uses a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Read,
    ReadWrite,
    Write,
}

impl Mode {
    pub fn reads(self) -> bool {
        self != Self::Write
    }

    pub fn writes(self) -> bool {
        self != Self::Read
    }

    /// The tokens before the buffer's name.
    pub fn written(self) -> &'static str {
        match self {
            Self::Read => "&",
            Self::ReadWrite => "&mut ",
            Self::Write => "out ",
        }
    }
}

/// One use of a device buffer by an operation.
pub struct BufferUse<'p> {
    pub buffer: BufferId,
    pub mode: Mode,
    /// The tokens that name it there.
    pub at: &'p dyn ToTokens,
}

impl Operation {
    /// The device buffers it uses, in the order in which they are written.
    pub fn buffers(&self) -> Vec<BufferUse<'_>> {
        fn copied<'p>(buffer: BufferId, mode: Mode, at: &'p Ident) -> BufferUse<'p> {
            BufferUse { buffer, mode, at }
        }
        match &self.kind {
            OperationKind::Upload { to, names, .. } => vec![copied(*to, Mode::Write, &names.to)],
            OperationKind::Download { from, names, .. } => vec![copied(*from, Mode::Read, &names.from)],
            OperationKind::CopyBuffer { from, to, names } => {
                vec![copied(*from, Mode::Read, &names.from), copied(*to, Mode::Write, &names.to)]
            }
            OperationKind::Fill(fill) => vec![copied(fill.buffer, Mode::Write, &fill.name)],
            OperationKind::Launch(_) | OperationKind::Call(_) | OperationKind::Host(_) => self
                .args()
                .iter()
                .filter_map(|arg| match arg {
                    CallArgument::Buffer { buffer, mode, written } => {
                        Some(BufferUse { buffer: *buffer, mode: *mode, at: written })
                    }
                    CallArgument::Scalar(_) => None,
                })
                .collect(),
            OperationKind::Then(_) => Vec::new(),
        }
    }

    /// The arguments between its parentheses, if it has any.
    pub fn args(&self) -> &[CallArgument] {
        match &self.kind {
            OperationKind::Launch(launch) => &launch.args,
            OperationKind::Call(invocation) | OperationKind::Host(invocation) => &invocation.args,
            OperationKind::Upload { .. }
            | OperationKind::Download { .. }
            | OperationKind::CopyBuffer { .. }
            | OperationKind::Fill(_)
            | OperationKind::Then(_) => &[],
        }
    }

    /// The kernel, routine or function that it names.
    pub fn path(&self) -> Option<&ExprPath> {
        match &self.kind {
            OperationKind::Launch(launch) => Some(&launch.kernel),
            OperationKind::Call(invocation) | OperationKind::Host(invocation) => Some(&invocation.path),
            OperationKind::Upload { .. }
            | OperationKind::Download { .. }
            | OperationKind::CopyBuffer { .. }
            | OperationKind::Fill(_)
            | OperationKind::Then(_) => None,
        }
    }

    /// The host data it uses, and whether it writes it.
    pub fn host(&self) -> Option<(HostId, Mode)> {
        match self.kind {
            OperationKind::Upload { from, .. } => Some((from, Mode::Read)),
            OperationKind::Download { to, .. } => Some((to, Mode::Write)),
            OperationKind::CopyBuffer { .. }
            | OperationKind::Fill(_)
            | OperationKind::Launch(_)
            | OperationKind::Call(_)
            | OperationKind::Host(_)
            | OperationKind::Then(_) => None,
        }
    }

    /// The shapes that a launch gives its buffers.
    fn shapes(&self) -> impl Iterator<Item = &Expr> {
        self.args()
            .iter()
            .flat_map(|argument| match argument {
                CallArgument::Buffer { written, .. } => written.shape().map(|(_, shape)| &shape.elems),
                CallArgument::Scalar(_) => None,
            })
            .flatten()
    }

    /// The user's expressions in it that are values: those that it fills with or passes. A callback is code,
    /// and no value.
    pub fn values(&self) -> Vec<&Expr> {
        fn passed(argument: &CallArgument) -> Option<&Expr> {
            match argument {
                CallArgument::Scalar(expr) => Some(expr),
                CallArgument::Buffer { .. } => None,
            }
        }
        match &self.kind {
            OperationKind::Upload { .. }
            | OperationKind::Download { .. }
            | OperationKind::CopyBuffer { .. } => Vec::new(),
            OperationKind::Fill(fill) => vec![&fill.value],
            OperationKind::Launch(_) | OperationKind::Call(_) | OperationKind::Host(_) => {
                self.args().iter().filter_map(passed).collect()
            }
            OperationKind::Then(_) => Vec::new(),
        }
    }

    /// All of the user's expressions in it: its [values](Self::values), and a launch's configuration and shapes.
    pub fn expressions(&self) -> Vec<&Expr> {
        let mut expressions = Vec::new();
        if let OperationKind::Launch(launch) = &self.kind {
            expressions.extend([&launch.grid, &launch.block]);
            expressions.extend(&launch.shared);
        }
        expressions.extend(self.values());
        expressions.extend(self.shapes());
        expressions
    }
}

impl Mark {
    /// The operation after which the event is recorded, or that waits for it: the nearest one on its stream.
    pub fn operation(&self, program: &Program) -> Option<usize> {
        let on_stream = |&index: &usize| program.operations[index].stream == self.stream;
        match self.kind {
            MarkKind::Record => (0..self.position).rev().find(on_stream),
            MarkKind::Wait(_) => (self.position..program.operations.len()).find(on_stream),
        }
    }
}

impl Program {
    /// The user's expressions in the stages: of operations, and of the `if`s and `repeat`s around them.
    pub fn expressions(&self) -> Vec<&Expr> {
        let mut expressions: Vec<_> = self.operations.iter().flat_map(Operation::expressions).collect();
        for block in &self.blocks {
            if let BlockKind::If(expr) | BlockKind::Repeat(expr) = &block.kind {
                expressions.push(expr);
            }
        }
        expressions
    }

    /// The blocks that a block stands in, it among them, from the outside in.
    pub fn within(&self, block: Option<BlockId>) -> Vec<BlockId> {
        let mut within: Vec<_> =
            std::iter::successors(block, |&BlockId(inner)| self.blocks[inner].parent).collect();
        within.reverse();
        within
    }

    /// The outermost `repeat` that an operation stands in. Its operations are one operation to the schedule.
    pub fn repeat_around(&self, operation: &Operation) -> Option<BlockId> {
        let is_repeat = |&BlockId(block): &BlockId| matches!(self.blocks[block].kind, BlockKind::Repeat(_));
        self.within(operation.block).into_iter().find(is_repeat)
    }

    /// Whether some chunks may leave an operation out.
    pub fn is_conditional(&self, operation: &Operation) -> bool {
        let is_repeat = |&BlockId(block): &BlockId| matches!(self.blocks[block].kind, BlockKind::Repeat(_));
        !self.within(operation.block).iter().all(is_repeat)
    }

    // Note 75: results that are combined need no order among slots.
    /// Whether each ring slot has a carried result of its own: chunks on a stream for each slot use it, and what
    /// slots have is combined at the end.
    pub fn is_per_slot(&self, id: BufferId) -> bool {
        let uses = |operation: &Operation| operation.buffers().iter().any(|usage| usage.buffer == id);
        let is_spread = |operation: &Operation| {
            let stream = &self.streams[operation.stream.0];
            stream.declared && stream.per_slot
        };
        matches!(self.buffers[id.0].kind, BufferKind::Carry { combine: Some(_), .. })
            && self.operations.iter().any(|operation| is_spread(operation) && uses(operation))
    }

    /// The name that the user gave the event recorded after an operation.
    pub fn event_after(&self, operation: usize) -> Option<&Ident> {
        let Sync::Manual(marks) = &self.sync else { return None };
        let mut records = marks.iter().filter(|mark| mark.kind == MarkKind::Record);
        records.find(|mark| mark.operation(self) == Some(operation)).map(|mark| &mark.event)
    }
}

impl HostKind {
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
            Self::InOut => "inout",
        }
    }

    pub fn reads(self) -> bool {
        self != Self::Output
    }

    pub fn writes(self) -> bool {
        self != Self::Input
    }
}
