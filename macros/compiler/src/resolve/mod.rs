//! Phase 2, resolve: names -> ids. What comes out is a [`Program`] in which every name is known and of the right kind.

mod names;
mod operations;

use proc_macro2::{Ident, Span};
use quote::ToTokens;
use syn::{Attribute, Expr, ExprPath, Path, Type, Visibility};

use crate::diagnostics::Diagnostics;
pub use crate::syntax::{HostKind, Priority, Shape, Size, WaitOf};
use crate::syntax::{Item, Pipeline};
use names::Names;

/// A pipeline whose names are resolved. Immutable from here on.
pub struct Program {
    pub runtime: Path,
    pub attrs: Vec<Attribute>,
    pub vis: Visibility,
    pub name: Ident,
    pub params: Vec<Param>,
    pub hosts: Vec<HostData>,
    pub buffers: Vec<Buffer>,
    pub streams: Vec<Stream>,
    pub stages: Vec<Stage>,
    /// In the order in which they are written, stage by stage.
    pub operations: Vec<Operation>,
    pub chunk: Chunk,
    pub depth: Size,
    /// Bytes of device memory that the ring may take.
    pub budget: Option<Box<Expr>>,
    pub sync: Sync,
    /// `run`'s arguments, in the order of declaration.
    pub arguments: Vec<Argument>,
}

/// Who places the events.
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
    /// A `resident` or `carry`.
    Shared(BufferId),
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
    /// Each ring slot has one.
    Ring,
    /// One for the run, read only; an argument of `run`.
    Resident,
    /// One for the run, handed from chunk to chunk; an argument of `run`.
    Carry { init: Option<Box<Expr>> },
}

impl Buffer {
    /// Whether there is one for the whole run.
    pub fn is_shared(&self) -> bool {
        !matches!(self.kind, BufferKind::Ring)
    }
}

pub struct Stream {
    pub name: Ident,
    pub priority: Priority,
    pub per_slot: bool,
    /// Whether it has a declaration; a stage that names no stream gets its own.
    pub declared: bool,
}

pub struct Stage {
    pub name: Ident,
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
    pub kind: OperationKind,
}

pub enum OperationKind {
    Upload { from: HostId, to: BufferId, names: CopyNames },
    Download { from: BufferId, to: HostId, names: CopyNames },
    CopyOnDevice { from: BufferId, to: BufferId, names: CopyNames },
    Fill(Box<Fill>),
    Launch(Box<Launch>),
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
    pub kernel: ExprPath,
    pub grid: Expr,
    pub block: Expr,
    pub shared: Option<Expr>,
    pub args: Vec<LaunchArgument>,
}

pub enum LaunchArgument {
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
            OperationKind::CopyOnDevice { from, to, names } => {
                vec![copied(*from, Mode::Read, &names.from), copied(*to, Mode::Write, &names.to)]
            }
            OperationKind::Fill(fill) => vec![copied(fill.buffer, Mode::Write, &fill.name)],
            OperationKind::Launch(launch) => launch
                .args
                .iter()
                .filter_map(|arg| match arg {
                    LaunchArgument::Buffer { buffer, mode, written } => {
                        Some(BufferUse { buffer: *buffer, mode: *mode, at: written })
                    }
                    LaunchArgument::Scalar(_) => None,
                })
                .collect(),
        }
    }

    /// The host data it uses, and whether it writes it.
    pub fn host(&self) -> Option<(HostId, Mode)> {
        match self.kind {
            OperationKind::Upload { from, .. } => Some((from, Mode::Read)),
            OperationKind::Download { to, .. } => Some((to, Mode::Write)),
            OperationKind::CopyOnDevice { .. } | OperationKind::Fill(_) | OperationKind::Launch(_) => None,
        }
    }
}

/// Resolves every name. `None` if there were errors.
pub fn resolve(pipeline: Pipeline, diagnostics: &mut Diagnostics) -> Option<Program> {
    let runtime = pipeline.runtime.unwrap_or_else(|| syn::parse_quote!(::thalweg));
    let mut program = Program {
        runtime,
        attrs: pipeline.attrs,
        vis: pipeline.vis,
        name: pipeline.name,
        params: Vec::new(),
        hosts: Vec::new(),
        buffers: Vec::new(),
        streams: Vec::new(),
        stages: Vec::new(),
        operations: Vec::new(),
        chunk: Chunk { name: None, size: Size::Auto },
        depth: Size::Auto,
        budget: None,
        sync: Sync::Auto,
        arguments: Vec::new(),
    };
    let mut names = Names::default();
    let mut stages = Vec::new();
    let (mut chunk, mut depth, mut budget, mut sync) = (None, None, None, None);
    for item in pipeline.items {
        match item {
            Item::Param { name, ty } => {
                names.data.declare("parameter", &name, diagnostics);
                program.arguments.push(Argument::Param(program.params.len()));
                program.params.push(Param { name, ty });
            }
            Item::Host { kind, name, pinned, shape } => {
                names.data.declare(kind.keyword(), &name, diagnostics);
                program.arguments.push(Argument::Host(HostId(program.hosts.len())));
                program.hosts.push(HostData { kind, name, pinned, shape });
            }
            Item::Device { name, shape } => {
                names.data.declare("buffer", &name, diagnostics);
                program.buffers.push(Buffer { name, shape, kind: BufferKind::Ring });
            }
            Item::Resident { name, shape } => {
                names.data.declare("resident", &name, diagnostics);
                program.arguments.push(Argument::Shared(BufferId(program.buffers.len())));
                program.buffers.push(Buffer { name, shape, kind: BufferKind::Resident });
            }
            Item::Carry { name, shape, init } => {
                names.data.declare("carry", &name, diagnostics);
                program.arguments.push(Argument::Shared(BufferId(program.buffers.len())));
                program.buffers.push(Buffer { name, shape, kind: BufferKind::Carry { init } });
            }
            Item::Chunk { keyword, name, size } => {
                names::only_once(&mut chunk, &keyword, diagnostics);
                names.data.declare("chunk", &name, diagnostics);
                program.chunk = Chunk { name: Some(name), size };
            }
            Item::Depth { keyword, slots } => {
                names::only_once(&mut depth, &keyword, diagnostics);
                program.depth = slots;
            }
            Item::Budget { keyword, bytes } => {
                names::only_once(&mut budget, &keyword, diagnostics);
                program.budget = Some(bytes);
            }
            Item::Sync { keyword, manual } => {
                names::only_once(&mut sync, &keyword, diagnostics);
                if manual {
                    program.sync = Sync::Manual(Vec::new());
                }
            }
            Item::Stream { name, priority, per_slot } => {
                names.streams.declare("stream", &name, diagnostics);
                program.streams.push(Stream { name, priority, per_slot, declared: true });
            }
            Item::Stage { name, stream, operations, .. } => {
                names.stages.declare("stage", &name, diagnostics);
                stages.push((name, stream, operations));
            }
        }
    }
    operations::resolve(&mut program, stages, &mut names, diagnostics);
    (!diagnostics.has_errors()).then_some(program)
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
