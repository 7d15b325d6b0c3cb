//! Where the operations of a run go: to streams, to streams that are timed, into a graph, or into a model.

pub(crate) mod graph;
pub(crate) mod model;
pub(crate) mod pace;
pub(crate) mod queue;
pub(crate) mod timed;
pub(crate) mod what;
