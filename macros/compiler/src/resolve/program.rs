//! [`Program`]: a pipeline whose names are resolved.

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::{Attribute, Expr, ExprClosure, ExprPath, Generics, Path, Type, Visibility};

use crate::syntax::Addressed;
use crate::syntax::{Collective, HostKind, Priority, Shape, Size, WaitOf};

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
    /// The name of the world in shapes that the compiler has written, if there are any. The user's names do not
    /// reach it.
    pub world: Option<Ident>,
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
    /// Whether all ranks give it the same value.
    pub uniform: bool,
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
    /// All ranks carry it out together.
    Collective(Box<Collective<Operand>>),
}

/// A buffer of a collective, or a part of one.
pub struct Operand {
    pub buffer: BufferId,
    /// The buffer's name as it is written there.
    pub name: Ident,
    pub range: Option<Expr>,
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

    /// The user's expressions that each run evaluates, callbacks among them.
    pub fn all_expressions(&self) -> Vec<&dyn ToTokens> {
        let mut all: Vec<&dyn ToTokens> = Vec::new();
        all.extend(self.expressions().into_iter().map(|expr| expr as &dyn ToTokens));
        for operation in &self.operations {
            if let OperationKind::Then(closure) = &operation.kind {
                all.push(&**closure);
            }
        }
        let shapes = self.hosts.iter().map(|host| &host.shape);
        for expr in shapes.chain(self.buffers.iter().map(|buffer| &buffer.shape)).flat_map(Shape::exprs) {
            all.push(expr);
        }
        for buffer in &self.buffers {
            if let BufferKind::Carry { init, combine, .. } = &buffer.kind {
                all.extend(init.iter().chain(combine).map(|expr| &**expr as &dyn ToTokens));
            }
        }
        all.extend(self.chunk.size.given().map(|expr| expr as &dyn ToTokens));
        all
    }

    /// Whether `world` is a name of the user's.
    pub fn declares_world(&self) -> bool {
        let params = self.params.iter().map(|param| &param.name);
        params.chain(&self.chunk.name).any(|name| name == "world")
    }

    /// The block whose condition or count decides on this one: the `if` of an `else`, else the block itself.
    pub fn decided_by(&self, block: BlockId) -> BlockId {
        match self.blocks[block.0].kind {
            BlockKind::Else(of) => of,
            BlockKind::If(_) | BlockKind::Repeat(_) => block,
        }
    }

    /// What has the same value on all ranks: the conditions and counts around collectives, their parts, their roots
    /// and partners.
    pub fn uniform_expressions(&self) -> Vec<&Expr> {
        let mut uniform: Vec<&Expr> = Vec::new();
        for (index, collective) in self.collectives() {
            for block in self.within(self.operations[index].block) {
                let BlockId(of) = self.decided_by(block);
                if let BlockKind::If(decides) | BlockKind::Repeat(decides) = &self.blocks[of].kind {
                    uniform.push(decides);
                }
            }
            uniform.extend(collective.data.iter().filter_map(|operand| operand.range.as_ref()));
            match &collective.to {
                Addressed::All => {}
                Addressed::Root(rank) => uniform.push(rank),
                Addressed::Ranks { from, to } => uniform.extend(from.iter().chain(to).map(|rank| &**rank)),
                Addressed::Neighbours { items, .. } => uniform.push(items),
            }
        }
        uniform
    }

    /// The collectives, with their places among the operations.
    pub fn collectives(&self) -> impl Iterator<Item = (usize, &Collective<Operand>)> {
        self.operations.iter().enumerate().filter_map(|(index, operation)| match &operation.kind {
            OperationKind::Collective(collective) => Some((index, &**collective)),
            _ => None,
        })
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
