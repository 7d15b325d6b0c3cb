//! Kernels in Rust: the CUDA C++ that is made of them, and the types that they use.
//!
//! `#[kernel]` and `#[device]` leave a function as it is and write a [`RustSource`] beside it. The source of a
//! kernel names functions and constants of other places, which only rustc knows; [`RustSource::joined`] puts
//! them together when a program runs. The types in [`native`] are those with which the function runs on the
//! host.

mod any;
mod atomics;
mod blocks;
#[cfg(feature = "complex")]
mod complex;
mod constant;
mod divided;
mod dynamic;
mod fault;
mod given;
mod launch;
mod native;
mod race;
mod replay;
mod rounds;
mod running;
mod source;
mod tiles;
mod turns;
mod types;
mod unchecked;
mod watched;
mod watched_slice;

pub use fault::KernelFault;
pub(crate) use fault::{Known, Lacking};

pub use any::AnyArray;
pub use atomics::{AtomicF32, AtomicF64, KernelAtomic, SharedAtomic};
pub use blocks::{
    Block, BlockThread, BlockValue, Fetched, Private, Shared, SharedArray, blocks, blocks_together, sealed,
};
pub use constant::{FieldConstant, KernelConstant, constant, struct_value};
pub use divided::{RowColumn, indices_divided};
pub use dynamic::SharedSlice;
pub use launch::indices;
pub(crate) use launch::{Hands, with_hands};
pub use native::{BlockIndex, Index, Out, Own};
pub use replay::Copies;
pub(crate) use replay::again;
pub use rounds::{OfBlock, OfGrid, ask_ahead};
pub(crate) use source::FAULT_VARIABLE;
pub use source::{
    Callee, Define, DeviceFunction, ForOneType, ForTypes, Orders, RustSource, RustText, for_one_type,
};
pub use tiles::{Elements, Fill, OwnRow, OwnTile, Part, Row, Rows, Tile, Tiles};
pub use turns::{ByCopy, ByReference, Turn};
pub use types::{KernelArray, KernelNumber, KernelType, RustType, StructLayout, array, number, size_of_part};
pub use unchecked::Unchecked;
pub use watched::{Watched, watched_blocks, watched_indices};
