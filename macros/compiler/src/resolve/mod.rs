//! Phase 2, resolve: names -> ids. The result is a [`Program`] in which every name is known and of the right
//! kind.

mod arguments;
mod collectives;
mod copies;
mod data;
mod names;
mod operations;
mod program;
mod uses;
mod variables;

use crate::diagnostics::Diagnostics;
pub use crate::syntax::{
    Addressed, Collective, CollectiveKind, Edge, Halo, HostKind, Memory, Operands, Priority, Reduction,
    ReductionKind, Shape, Size, WaitOf,
};
use crate::syntax::{Item, Pipeline};
use names::Names;

pub use program::*;
pub use uses::*;
pub use variables::*;

/// Resolves every name. `None` if there were errors.
pub fn resolve(pipeline: Pipeline, diagnostics: &mut Diagnostics) -> Option<Program> {
    let runtime = pipeline.runtime.unwrap_or_else(|| syn::parse_quote!(::thalweg));
    let mut program = Program {
        runtime,
        attrs: pipeline.attrs,
        vis: pipeline.vis,
        name: pipeline.name,
        generics: pipeline.generics,
        params: Vec::new(),
        hosts: Vec::new(),
        buffers: Vec::new(),
        streams: Vec::new(),
        stages: Vec::new(),
        operations: Vec::new(),
        blocks: Vec::new(),
        chunk: Chunk { name: None, size: Size::Auto },
        depth: Size::Auto,
        budget: None,
        sync: Sync::Auto,
        graph: false,
        arguments: Vec::new(),
        world: None,
    };
    let mut names = Names::default();
    let mut stages = Vec::new();
    let (mut chunk, mut depth, mut budget, mut sync, mut mode) = (None, None, None, None, None);
    for item in pipeline.items {
        match item {
            Item::Param { name, ty, uniform } => {
                names.data.declare("parameter", &name, diagnostics);
                program.arguments.push(Argument::Param(program.params.len()));
                program.params.push(Param { name, ty, uniform });
            }
            Item::Argument { kind, name, memory, shape } => {
                names.data.declare(kind.keyword(), &name, diagnostics);
                if matches!(memory, Memory::Host | Memory::Pinned) {
                    program.arguments.push(Argument::Host(HostId(program.hosts.len())));
                    program.hosts.push(HostData { kind, name, pinned: memory == Memory::Pinned, shape });
                } else {
                    program.arguments.push(Argument::Buffer(BufferId(program.buffers.len())));
                    let kind = BufferKind::InPlace { kind, mapped: memory == Memory::Mapped };
                    program.buffers.push(Buffer { name, shape, kind });
                }
            }
            Item::Scratch { name, on_host, shape } => {
                names.data.declare("buffer", &name, diagnostics);
                let kind = if on_host { BufferKind::HostScratch } else { BufferKind::Ring };
                program.buffers.push(Buffer { name, shape, kind });
            }
            Item::Resident { name, on_device, shape } => {
                names.data.declare("resident", &name, diagnostics);
                program.arguments.push(Argument::Buffer(BufferId(program.buffers.len())));
                program.buffers.push(Buffer { name, shape, kind: BufferKind::Resident { on_device } });
            }
            Item::Carry { name, on_device, shape, init, combine } => {
                names.data.declare("carry", &name, diagnostics);
                program.arguments.push(Argument::Buffer(BufferId(program.buffers.len())));
                let kind = BufferKind::Carry { on_device, init, combine };
                program.buffers.push(Buffer { name, shape, kind });
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
            Item::Mode { keyword, graph } => {
                names::only_once(&mut mode, &keyword, diagnostics);
                program.graph = graph;
            }
            Item::Stream { name, priority, per_slot, null } => {
                names.streams.declare("stream", &name, diagnostics);
                program.streams.push(Stream { name, priority, per_slot, null, declared: true });
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

impl Sync {
    /// The user's records and waits.
    pub fn marks(&self) -> &[Mark] {
        match self {
            Self::Auto => &[],
            Self::Manual(marks) => marks,
        }
    }
}
