//! What a call knows of its sources and sinks, and the threads that some of them have. How chunks arrive is in `arrival`.

use std::sync::Arc;
use std::thread::{Builder, Scope};

use crate::base::error::{Error, ErrorKind, Place, Result};
use crate::base::plan::Plan;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::feeds::exchange::{End, Exchange, kind_of};
use crate::engine::place::place_of;
use crate::exchange::Trouble;
use crate::exchange::{AnySink, AnySource};

/// What a run with sources and sinks knows of them.
#[derive(Clone, Copy)]
pub(crate) struct Streaming<'r> {
    pub(crate) exchange: &'r Arc<Exchange>,
    /// The items of the run as far as they are known: all of them, or more than there are.
    pub(crate) whole: Chunking,
    /// Whether the run ends where its sources do.
    pub(crate) endless: bool,
    /// The result by chunk that is shortest, of a run that finds out how many it has.
    pub(crate) room: Option<ByChunk>,
}

/// An argument with something for each chunk.
#[derive(Clone, Copy)]
pub(crate) struct ByChunk {
    pub(crate) name: &'static str,
    /// In elements.
    pub(crate) len: usize,
    pub(crate) per_chunk: usize,
    pub(crate) place: Place,
}

impl ByChunk {
    pub(crate) fn chunks(&self) -> usize {
        self.len / self.per_chunk
    }
}

/// The place of what an end does with a chunk.
pub(crate) fn place_of_end(plan: &'static Plan, end: &End, chunk: Option<usize>) -> Place {
    place_of(plan, end.operations[0], chunk.map(|chunk| chunk as u64))
}

/// Why a source or a sink has stopped, and where.
pub(crate) fn explain_trouble(plan: &'static Plan, end: &End, trouble: &Trouble) -> Error {
    Error::new(kind_of(trouble, end.name, end.is_sink)).at(place_of_end(plan, end, trouble.chunk))
}

/// What the thread of a source or a sink works on.
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
        started.map_err(|error| ErrorKind::NoStreamThread { host, message: error.to_string() })?;
    }
    Ok(())
}
