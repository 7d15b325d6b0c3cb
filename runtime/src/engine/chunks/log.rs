//! [`ChunkLog`]: the chunks of a run that learns their number on the way.

use std::collections::VecDeque;

use crate::base::chunk::Chunk;
use crate::engine::chunks::chunking::Chunking;

/// The progress of a run that ends where its sources do. It remembers the last chunks.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChunkLog {
    /// Items of the largest chunk.
    largest: usize,
    chunks: usize,
    items: usize,
    /// The first items of the last chunks, the oldest first.
    starts: VecDeque<usize>,
    /// The number of chunks remembered.
    remembered: usize,
}

impl ChunkLog {
    /// A log of chunks with at most `largest` items. A chunk is asked for at most `behind` chunks later.
    pub(crate) fn new(largest: usize, behind: usize) -> Self {
        Self { largest, remembered: behind.saturating_add(1), ..Self::default() }
    }

    /// The next chunk if it is whole.
    pub(crate) fn next(&self) -> Chunk {
        Chunk { index: self.chunks, start: self.items, len: self.largest }
    }

    /// Adds the next chunk, with `len` items.
    pub(crate) fn push(&mut self, len: usize) -> Chunk {
        let chunk = Chunk { len, ..self.next() };
        if self.starts.len() == self.remembered {
            self.starts.pop_front();
        }
        self.starts.push_back(chunk.start);
        (self.chunks, self.items) = (self.chunks + 1, self.items.saturating_add(len));
        chunk
    }

    /// The last chunk, if this is its index; otherwise a chunk without items.
    pub(crate) fn at(&self, index: usize) -> Chunk {
        let start = self.start(index);
        let len = if index + 1 == self.chunks { self.items - start } else { 0 };
        Chunk { index, start, len }
    }

    /// The first item of a chunk; after the last one, the end. For a forgotten chunk, 0.
    pub(crate) fn start(&self, index: usize) -> usize {
        let first = self.chunks - self.starts.len();
        match index.checked_sub(first) {
            Some(known) => self.starts.get(known).copied().unwrap_or(self.items),
            None => 0,
        }
    }

    /// The chunks so far.
    pub(crate) fn chunking(&self) -> Chunking {
        Chunking::found(self.items, self.largest, self.chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_any_length() {
        let mut log = ChunkLog::new(10, 2);
        assert_eq!((log.chunking().chunks(), log.start(0), log.at(0).len), (0, 0, 0));
        let lengths = [10, 3, 10, 1, 1, 10, 7];
        for (index, len) in lengths.into_iter().enumerate() {
            let start = lengths[..index].iter().sum();
            assert_eq!(log.next(), Chunk { index, start, len: 10 });
            assert_eq!(log.push(len), Chunk { index, start, len });
            assert_eq!(log.at(index), Chunk { index, start, len });
            assert_eq!(log.at(index + 1).len, 0);
            for known in index.saturating_sub(2)..=index + 1 {
                assert_eq!(log.start(known), lengths[..known].iter().sum::<usize>());
            }
            assert_eq!((log.chunking().items(), log.chunking().chunks()), (start + len, index + 1));
            assert!(log.starts.len() <= 3);
        }
        assert_eq!((log.start(0), log.at(3).len), (0, 0));
    }
}
