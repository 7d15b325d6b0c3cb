//! Items that generated code uses. They are not part of the interface and change without notice.

pub use crate::__thalweg_register as register;
pub use crate::backends::cuda::{Compiled, compilations, compile_for, held_by, kernels_in};
pub use crate::backends::sim::{Promise, whole_body};
pub use crate::base::chunk::Chunk;
pub use crate::base::collective::{CollectiveKind, Max, Mean, Min, Operands, Product, Reduction, Sum};
pub use crate::base::error::{Detail, RanksDetail, Result, Who};
pub use crate::base::extent::Constant;
pub use crate::base::in_rust::{
    AtomicF32, AtomicF64, Block, BlockValue, ByCopy, ByReference, Callee, Copies, Define, DeviceFunction,
    FieldConstant, ForOneType, ForTypes, Index, KernelArray, KernelAtomic, KernelConstant, KernelFault,
    KernelNumber, KernelType, OfBlock, OfGrid, Orders, Out, Own, RowColumn, RustSource, RustText, RustType,
    StructLayout, Turn, Unchecked, Watched, array, ask_ahead, blocks, blocks_together, constant,
    for_one_type, indices, indices_divided, number, sealed, size_of_part, struct_value, watched_blocks,
    watched_indices,
};
pub use crate::base::its::Its;
pub use crate::base::kernel::{Header, KernelInfo, KernelModule, KernelSource};
pub use crate::base::layout::{HalfData, HalfElements, PlainData, PlainElements, same_layout};
pub use crate::base::plan::{
    AccessPlan, BufferKind, BufferPlan, Distance, EventPlan, Hazard, HazardPlan, HostPlan, Memory,
    OperationKind, OperationPlan, Plan, Priority, StreamPlan, WaitPlan,
};
pub use crate::base::report::Report;
pub use crate::base::threads::{Grid, Thread};
pub use crate::device::Device;
pub use crate::device::function::Function;
pub use crate::device::launch::{
    AtomicArg, AtomicView, Borrowed, Kernel, KernelScalar, Launch, Lender, OutArg, OwnArg, OwnView, Position,
    ReadArg, ReadWriteArg, Shaped, ShapedOutArg, ShapedOwnArg, Uneven, View, ViewMut, WriteArg, argument,
    for_each, host_body,
};
pub use crate::device::registered::Registered;
pub use crate::driver::{Access, Bodies, HostBody, InRust};
pub use crate::engine::arguments::{InOut, Input, Output};
pub use crate::engine::numbers::{functions, methods, type_of};
pub use crate::engine::{
    Buffer, Build, Call, ChunkSize, EachRank, Edge, Host, OnEach, Operand, Operation, Options, Peer,
    Pipelines, Purpose, Routine, Run, Settings, Size, Standing, everyone, fits_budget, host_value, is_blocks,
    is_constant, nobody, routine, times, word,
};
pub use half::{bf16, f16};
