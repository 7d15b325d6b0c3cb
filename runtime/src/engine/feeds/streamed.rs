//! The sources and sinks of a call, and the threads that some of them have. `arrival` handles the arrival of
//! chunks.

use std::sync::Arc;
use std::thread::{Builder, Scope};

use crate::base::error::{Detail, Error, Place, Result};
use crate::base::plan::Plan;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::feeds::exchange::{End, Exchange, kind_of};
use crate::engine::place::place_of;
use crate::exchange::Trouble;
use crate::exchange::{AnySink, AnySource};

/// A run's view of its sources and sinks.
#[derive(Clone, Copy)]
pub(crate) struct Streaming<'r> {
    pub(crate) exchange: &'r Arc<Exchange>,
    /// The chunks of the run as far as they are known: all of them, or more than there are.
    pub(crate) whole: Chunking,
    /// Whether the run ends where its sources do.
    pub(crate) endless: bool,
    /// The shortest output with elements for each chunk, if the run finds out its number of chunks.
    pub(crate) room: Option<ByChunk>,
}

/// An argument with elements for each chunk.
#[derive(Clone, Copy)]
pub(crate) struct ByChunk {
    pub(crate) name: &'static str,
    /// Length in elements.
    pub(crate) len: usize,
    pub(crate) per_chunk: usize,
    pub(crate) place: Place,
}

impl ByChunk {
    pub(crate) fn chunks(&self) -> usize {
        self.len / self.per_chunk
    }
}

/// The place of an end's work on a chunk.
pub(crate) fn place_of_end(plan: &'static Plan, end: &End, chunk: Option<usize>) -> Place {
    place_of(plan, end.operations[0], chunk.map(|chunk| chunk as u64))
}

/// The reason why a source or a sink has stopped, and its place.
pub(crate) fn explain_trouble(plan: &'static Plan, end: &End, trouble: &Trouble) -> Error {
    Error::new(kind_of(trouble, end.name, end.is_sink)).at(place_of_end(plan, end, trouble.chunk))
}

/// The work of the thread of a source or a sink.
pub(crate) enum EndWork<'a> {
    Read(Box<dyn AnySource + 'a>),
    Write(Box<dyn AnySink + 'a>),
}

/// Starts a thread for each source and each sink that has one.
pub(crate) fn start<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    exchange: &Arc<Exchange>,
    threads: Vec<(usize, EndWork<'env>)>,
) -> Result<()> {
    for (number, work) in threads {
        let exchange = Arc::clone(exchange);
        let host = exchange.ends[number].name;
        let work = move || match work {
            EndWork::Read(source) => exchange.read(number, source),
            EndWork::Write(sink) => exchange.write(number, sink),
        };
        let started = Builder::new().name(format!("thalweg {host}")).spawn_scoped(scope, work);
        started.map_err(|error| Detail::NoStreamThread { host, message: error.to_string() })?;
    }
    Ok(())
}
