//! [`Chunks`]: the chunks of a run, as far as they are known, and the current one.

use std::cell::{Cell, RefCell};

use crate::base::chunk::Chunk;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::chunks::log::ChunkLog;
use crate::engine::feeds::streamed::Streaming;
use crate::job::Cancels;

/// The chunks of a run.
pub(crate) struct Chunks<'r> {
    /// The chunks known so far: a run that ends where its sources do learns of them one by one.
    pub(crate) chunking: Cell<Chunking>,
    /// The log of a run that learns its chunks one by one.
    pub(crate) log: RefCell<ChunkLog>,
    /// Present if there are sources or sinks.
    pub(crate) streaming: Option<Streaming<'r>>,
    /// The number of items that sources must have, and the argument that determines it.
    pub(crate) wanted: (usize, &'static str),
    /// Whether the sources have ended.
    pub(crate) ended: Cell<bool>,
    /// Whether the host waits for the slots that a source fills next.
    pub(crate) settles: Cell<bool>,
    /// The handles that may ask the run to end.
    pub(crate) cancels: Cancels,
    depth: usize,
    current: Cell<Current>,
}

/// A chunk, as its operations use it.
#[derive(Clone, Copy)]
pub(crate) struct Current {
    pub(crate) chunk: Chunk,
    /// Its ring slot.
    pub(crate) slot: usize,
}

impl<'r> Chunks<'r> {
    /// `chunking`: the greatest possible one if the run ends where its sources do.
    pub(crate) fn new(
        chunking: Chunking,
        depth: usize,
        streaming: Option<Streaming<'r>>,
        wanted: (usize, &'static str),
    ) -> Self {
        // Nobody looks further back than the number of slots, before and behind the device.
        let log = ChunkLog::new(chunking.largest(), 2 * depth + 2);
        let chunking =
            if streaming.is_some_and(|streaming| streaming.endless) { log.chunking() } else { chunking };
        Self {
            chunking: Cell::new(chunking),
            log: RefCell::new(log),
            streaming,
            wanted,
            ended: Cell::new(false),
            settles: Cell::new(false),
            cancels: Cancels::of_this_thread(),
            depth,
            current: Cell::new(Current { chunk: chunking.at(0), slot: 0 }),
        }
    }

    /// Whether the run ends where its sources do.
    pub(crate) fn is_endless(&self) -> bool {
        self.streaming.is_some_and(|streaming| streaming.endless)
    }

    /// The chunk of the operation that was begun last, or the first chunk.
    #[inline]
    pub(crate) fn current(&self) -> Current {
        self.current.get()
    }

    /// Goes on to a chunk. It is recalculated, so that a chunk of another run cannot reach beyond this run's
    /// arguments.
    pub(crate) fn begin(&self, index: usize) -> Chunk {
        let chunk =
            if self.is_endless() { self.log.borrow().at(index) } else { self.chunking.get().at(index) };
        self.current.set(Current { chunk, slot: index % self.depth });
        chunk
    }

    /// The first item of a chunk.
    pub(crate) fn start(&self, index: usize) -> usize {
        match self.is_endless() {
            true => self.log.borrow().start(index),
            false => self.chunking.get().start(index),
        }
    }
}
