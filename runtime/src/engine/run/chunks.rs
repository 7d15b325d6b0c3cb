//! [`Chunks`]: the chunks of a run, as far as they are known, and the current one.

use std::cell::{Cell, RefCell};

use crate::base::chunk::Chunk;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::chunks::dealer::Hand;
use crate::engine::chunks::dealer::Share;
use crate::engine::chunks::log::ChunkLog;
use crate::engine::feeds::streamed::Streaming;
use crate::job::Cancels;

/// The chunks of a run.
pub(crate) struct Chunks<'r> {
    /// The chunks known so far: a run that ends where its sources do learns of them one by one.
    pub(crate) chunking: Cell<Chunking>,
    /// The log of a run that learns its chunks one by one.
    pub(crate) log: RefCell<ChunkLog>,
    /// Present if the run has other devices, too: the chunks of this one.
    pub(crate) hand: Option<&'r Hand<'r>>,
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
    /// Its number among the chunks of this device: its index, unless the run has several devices.
    pub(crate) turn: usize,
    /// Its ring slot.
    pub(crate) slot: usize,
}

impl<'r> Chunks<'r> {
    /// `chunking`: the greatest possible one if the run ends where its sources do. `share`: what this device
    /// has of a run of several.
    pub(crate) fn new(
        chunking: Chunking,
        depth: usize,
        (streaming, share): (Option<Streaming<'r>>, Option<&'r Share<'r>>),
        wanted: (usize, &'static str),
    ) -> Self {
        // Nobody looks further back than the number of slots, before and behind the device.
        let log = ChunkLog::new(chunking.largest(), 2 * depth + 2);
        let chunking =
            if streaming.is_some_and(|streaming| streaming.endless) { log.chunking() } else { chunking };
        // No chunk of a hand has begun.
        let hand = share.map(|share| &share.hand);
        let first = match hand {
            Some(_) => Chunk { index: 0, start: 0, len: 0 },
            None => chunking.at(0),
        };
        Self {
            chunking: Cell::new(chunking),
            hand,
            log: RefCell::new(log),
            streaming,
            wanted,
            ended: Cell::new(false),
            settles: Cell::new(false),
            cancels: share.map_or_else(Cancels::of_this_thread, |share| share.cancels.clone()),
            depth,
            current: Cell::new(Current { chunk: first, turn: 0, slot: 0 }),
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

    /// The turn of a chunk whose operations are being enqueued.
    #[inline]
    pub(crate) fn turn(&self, index: usize) -> usize {
        match self.hand {
            None => index,
            Some(hand) => {
                let Current { chunk, .. } = self.current.get();
                hand.turn(chunk.index == index && chunk.len > 0)
            }
        }
    }

    /// The chunk of a turn, if there is one. A hand is dealt it if need be.
    pub(crate) fn of_turn(&self, turn: usize) -> Option<Chunk> {
        let chunking = self.chunking.get();
        match self.hand {
            Some(hand) => hand.take(turn),
            None => (turn < chunking.chunks()).then(|| chunking.at(turn)),
        }
    }

    /// The chunk of a turn, as far as it is known, whose data may be read before it begins. Beside sources and sinks,
    /// chunks are dealt later, once they have arrived.
    pub(crate) fn ahead(&self, turn: usize) -> Option<Chunk> {
        match (self.hand, &self.streaming) {
            (Some(hand), Some(streaming)) if streaming.endless => hand.chunk(turn),
            (Some(hand), Some(_)) => hand.foreseen(turn),
            // Nothing of a chunk without items is read.
            _ => self.of_turn(turn).filter(|chunk| chunk.len > 0),
        }
    }

    /// Whether a chunk may be without items of this rank, since other ranks have some.
    #[inline]
    pub(crate) fn may_be_empty(&self, index: usize) -> bool {
        self.chunking.get().agreed_items(index) > 0
    }

    /// Items of a chunk on the rank that has the most.
    pub(crate) fn agreed_items(&self, chunk: Chunk) -> usize {
        self.chunking.get().agreed_items(chunk.index).max(chunk.len)
    }

    /// The turn of a chunk of a run with sources or sinks; `None` if another device has it.
    pub(crate) fn turn_of(&self, index: usize) -> Option<usize> {
        self.hand.map_or(Some(index), |hand| hand.turn_of(index))
    }

    /// The number of devices, each of which has one chunk after another of such a run.
    pub(crate) fn devices(&self) -> usize {
        self.hand.map_or(1, Hand::devices)
    }

    /// The number of chunks of this device.
    pub(crate) fn turns(&self) -> usize {
        self.hand.map_or_else(|| self.chunking.get().chunks(), Hand::len)
    }

    /// Goes on to a chunk. It is recalculated, so that a chunk of another run cannot reach beyond this run's
    /// arguments.
    pub(crate) fn begin(&self, index: usize) -> Chunk {
        let turn = self.turn(index);
        let chunk = match self.hand {
            // A chunk of another device has no items here.
            Some(hand) => hand.begin(index).unwrap_or(Chunk { index, start: 0, len: 0 }),
            _ if self.is_endless() => self.log.borrow().at(index),
            _ => self.chunking.get().at(index),
        };
        self.current.set(Current { chunk, turn, slot: turn % self.depth });
        chunk
    }

    /// The number of items in the chunks of the turns before this one.
    pub(crate) fn items_before(&self, turn: usize) -> usize {
        let chunking = self.chunking.get();
        match self.hand {
            Some(hand) => hand.items_before(turn),
            None if self.is_endless() => self.log.borrow().start(turn),
            None => chunking.start(turn),
        }
    }
}
