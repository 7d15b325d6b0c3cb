//! Kernels in Rust: the CUDA C++ that is made of them, and the types that they use.
//!
//! `#[kernel]` and `#[device]` leave a function as it is and write a [`RustSource`] beside it. The source of a
//! kernel names functions and constants of other places, which only rustc knows; [`RustSource::joined`] puts
//! them together when a program runs. The types in [`native`] are those with which the function runs on the
//! host.

mod blocks;
mod constant;
mod fault;
mod launch;
mod native;
mod source;
mod tiles;
mod types;

pub use fault::KernelFault;

pub use blocks::{Block, BlockThread, BlockValue, Private, Shared, SharedArray, blocks, sealed};
pub use constant::{FieldConstant, KernelConstant, constant, struct_value};
pub use launch::indices;
pub use native::{BlockIndex, Index, Out, Own};
pub(crate) use source::FAULT_VARIABLE;
pub use source::{Callee, Define, DeviceFunction, RustSource, RustText};
pub use tiles::{Elements, Fill, OwnRow, OwnTile, Row, Rows, Tile, Tiles};
pub use types::{KernelNumber, KernelType, RustType, StructLayout, number};
