//! The parts of a generated pipeline: its arguments, its chunks, the staging of ordinary memory, the targets
//! of its operations, and the run that enqueues them.

mod allocate;
pub(crate) mod arguments;
mod call;
mod chunks;
mod explain;
mod feeds;
mod fits;
mod frame;
mod launched;
pub(crate) mod numbers;
mod options;
mod pace;
mod pipeline;
mod pipelines;
mod place;
mod purpose;
mod ranks;
mod run;
mod staging;
mod state;
mod streams;
mod symbols;
mod targets;
#[cfg(test)]
mod tests;
mod totals;

pub use arguments::handles::{Buffer, Host};
pub use arguments::shape::{Edge, Size};
pub use call::{Call, Standing};
pub use fits::fits_budget;
pub use options::{Build, Options, Settings};
pub use pipeline::ChunkSize;
pub(crate) use pipeline::Pipeline;
pub use pipelines::{OnEach, Pipelines};
pub use purpose::Purpose;
pub use run::Run;
pub use run::constant::is_constant;
pub use run::enqueue::Enqueue;
pub use run::functions::{HostValue, Outcome, Times, host_value, times};
pub use run::operands::Operand;
pub use run::operation::Operation;
pub use run::peers::{EachRank, Peer, everyone, nobody};
pub use run::routine::{Routine, routine};
pub use run::workspace::Workspace;
pub use state::State;
pub use targets::graph::repeat::{is_blocks, word};
