//! CUDA GPUs, by the driver and NVRTC, which are looked for when the program runs.
//!
//! Nothing is linked. [`probe`] looks for the libraries when the first device is asked for, and [`table`]
//! looks up their functions. On a machine without them the error names the files that were looked for.
//! [`driver`] is the device, [`open`] finds it, and [`enqueue`] carries out its commands. [`context`],
//! [`info`], [`pinned`], [`ends`], [`counts`], [`host`], [`launch`], [`attributes`], [`module`] and [`nccl`] each do one
//! thing for it. For modules, [`compile`] asks the [`cache`] and [`nvrtc`], which finds the includes of a source by
//! [`headers`] and [`toolkit`]. [`image`] reads images that are compiled already.

mod api;
mod attributes;
pub(crate) mod bindings;
mod cache;
mod compile;
mod compiled;
mod context;
mod counts;
mod devices;
mod driver;
mod ends;
mod enqueue;
mod faults;
mod fill;
mod freed;
mod graph;
mod graph_functions;
mod handles;
mod headers;
mod host;
mod image;
mod info;
mod key;
mod language;
mod launch;
mod module;
mod nccl;
mod nvrtc;
mod open;
mod opened;
mod owned;
mod page;
mod peers;
mod pinned;
pub(crate) mod probe;
mod rows;
mod small_copy;
pub(crate) mod sys;
pub(crate) mod table;
mod toolkit;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use cache::own_folder as cache_folder;
#[doc(hidden)]
pub use compile::{compilations, compile_for};
#[doc(hidden)]
pub use compiled::Compiled;
pub(crate) use context::Context;
pub(crate) use devices::device_count;
pub(crate) use driver::Cuda;
pub(crate) use handles::{LEGACY_STREAM, PER_THREAD_STREAM};
#[doc(hidden)]
pub use image::{held_by, kernels_in};
pub(crate) use open::OfContext;
