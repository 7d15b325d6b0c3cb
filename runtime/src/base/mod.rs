//! The lowest floor, which all others build on and which imports none of them: errors, plans, kernels'
//! descriptions, the threads that copy and run bodies on the host.

pub(crate) mod block;
pub(crate) mod chunk;
pub(crate) mod collective;
pub(crate) mod crews;
pub(crate) mod engine;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod extent;
pub(crate) mod fork;
pub(crate) mod handles;
pub(crate) mod host_copy;
pub(crate) mod in_rust;
pub(crate) mod its;
pub(crate) mod kernel;
pub(crate) mod layout;
pub(crate) mod machine;
pub(crate) mod model;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod serial;
pub(crate) mod sync;
pub(crate) mod tag;
pub(crate) mod team;
pub(crate) mod threads;
pub(crate) mod unwind;
