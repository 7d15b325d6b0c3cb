//! What generated code uses. Not part of the interface: it changes without notice.

pub use crate::__thalweg_register as register;
pub use crate::cuda::{Compiled, compilations, compile_for, held_by, kernels_in};
pub use crate::device::Device;
pub use crate::driver::{Access, HostBody};
pub use crate::error::Result;
pub use crate::extent::Constant;
pub use crate::function::Function;
pub use crate::kernel::{Grid, Header, KernelInfo, KernelModule, KernelSource, Thread};
pub use crate::launch::{
    Kernel, KernelScalar, Launch, Position, ReadArg, ReadWriteArg, View, ViewMut, WriteArg, argument,
    for_each, host_body,
};
pub use crate::layout::{HalfData, HalfElements, PlainData, PlainElements, same_layout};
pub use crate::memory::{InOut, Input, Output};
pub use crate::pipeline::numbers::{functions, methods, type_of};
pub use crate::pipeline::{
    Buffer, Build, Call, Chunk, ChunkSize, Edge, Host, Operation, Options, Pipeline, Purpose, Routine, Run,
    Settings, Size, fits_budget, host_value, is_blocks, routine, times, word,
};
pub use crate::plan::{
    AccessPlan, BufferKind, BufferPlan, Distance, EventPlan, Hazard, HazardPlan, HostPlan, Memory,
    OperationKind, OperationPlan, Plan, Priority, StreamPlan, WaitPlan,
};
pub use crate::registry::Registered;
pub use crate::report::Report;
pub use crate::unwritten::{Promise, whole_body};
