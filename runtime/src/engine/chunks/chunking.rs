//! [`Chunking`]: the chunks of a run's items.

use crate::base::chunk::Chunk;

/// The number of smaller chunks at each end of a ramped run.
///
/// While the first chunk comes in, and while the last one goes out, the kernels have nothing to do: with
/// three, for an eighth of the time that whole chunks take.
const STEPS: u32 = 3;

/// The number of whole chunks from which a run is worth ramps.
const ENOUGH: usize = 16;

/// How often the first and the last chunk of a run are halved if they alone are to be small: so often that what is
/// done for these alone, on one thread, costs little beside what all threads do for a whole chunk.
const HALVINGS: u32 = 9;

/// The number of whole chunks for which such a run has items, at least.
const FEW: usize = 4;

/// The items of such a whole chunk, at least: copying fewer costs less than more chunks do.
const WORTH_IT: usize = 1 << 17;

// Note 25: an auto chunk follows from the length of the run.
/// The items of an auto chunk are a multiple of this, even in the smallest chunk: the threads of a usual
/// block.
const GRAIN: usize = 256;

/// The chunks of a run's items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunking {
    items: usize,
    /// Items of the largest chunk.
    chunk: usize,
    /// The number of chunks at the beginning, each longer than the one before, and of shrinking ones at the end.
    steps: u32,
    /// How often a chunk of these is halved to have the length of the next smaller one.
    halvings: u32,
    /// The number of chunks of each of these lengths, at each end: one for each device.
    each: usize,
    /// Items of the rank that has the most, if ranks have agreed on these chunks. Each of them takes part in all chunks.
    most: Option<usize>,
    /// The number of chunks if they came one by one, some of them perhaps shorter. Otherwise the fields above
    /// determine it.
    found: Option<usize>,
}

impl Chunking {
    /// Chunks of `chunk` items, at least 1; the last one has the rest.
    pub(crate) fn even(items: usize, chunk: usize) -> Self {
        Self { items, chunk, steps: 0, halvings: 0, each: 1, most: None, found: None }
    }

    /// Chunks of `chunk` items, at least 1, of a rank that has `items` of them, and takes part in those of the rank with
    /// `most`.
    pub(crate) fn agreed(items: usize, chunk: usize, most: usize) -> Self {
        Self { most: Some(most), ..Self::even(items, chunk.min(most.max(1))) }
    }

    /// `chunks` chunks of at most `chunk` items, as they came. Where each of them began is not known.
    pub(crate) fn found(items: usize, chunk: usize, chunks: usize) -> Self {
        Self { items, chunk, steps: 0, halvings: 0, each: 1, most: None, found: Some(chunks) }
    }

    /// There are as few chunks as in [`even`](Self::even), all of about the same size: the last one, too, is
    /// as much behind as the others.
    pub(crate) fn equal(items: usize, chunk: usize) -> Self {
        let each = items.div_ceil(items.div_ceil(chunk).max(1)).max(1);
        Self::even(items, each.checked_next_multiple_of(GRAIN).map_or(chunk, |each| each.min(chunk)))
    }

    /// Chunks that grow at the beginning and shrink at the end, if there are enough items for that.
    pub(crate) fn ramped(items: usize, chunk: usize) -> Self {
        // Ramps add four chunks, which is too much for a short run.
        Self::in_steps(items, chunk, [STEPS, 1], ENOUGH).unwrap_or_else(|| Self::equal(items, chunk))
    }

    /// The same for chunks of which the first and the last cost more than others: these are small, even if there are
    /// few chunks in all.
    pub(crate) fn small_at_ends(items: usize, chunk: usize) -> Self {
        let whole = chunk.min(items / FEW);
        let chunks = Self::in_steps(items, whole, [1, HALVINGS], FEW).filter(|_| whole >= WORTH_IT);
        chunks.unwrap_or_else(|| Self::equal(items, chunk))
    }

    /// Chunks that grow and shrink in so many steps of so many halvings, if there are items for so many whole ones.
    fn in_steps(items: usize, chunk: usize, [steps, halvings]: [u32; 2], enough: usize) -> Option<Self> {
        let whole = chunk - chunk % (GRAIN << (steps * halvings));
        let chunks = Self { items, chunk: whole, steps, halvings, each: 1, most: None, found: None };
        (whole > 0 && items / whole >= enough).then_some(chunks)
    }

    /// Such chunks of `items` items, if these are those of one of `devices` devices. Each device then has as many
    /// small ones as it would have alone.
    pub(crate) fn shared_by(self, devices: usize, items: usize) -> Self {
        Self { items, each: devices, ..self }
    }

    /// Items of the largest chunk.
    pub(crate) fn largest(self) -> usize {
        self.chunk
    }

    /// All items.
    pub(crate) fn items(self) -> usize {
        self.items
    }

    /// The number of chunks.
    pub(crate) fn chunks(self) -> usize {
        self.found.unwrap_or_else(|| self.between() + 2 * self.steps())
    }

    /// The number of chunks that have items of this rank.
    pub(crate) fn own_chunks(self) -> usize {
        Self { most: None, ..self }.chunks()
    }

    /// Items of a chunk on the rank that has the most; 0 if ranks have not agreed.
    pub(crate) fn agreed_items(self, index: usize) -> usize {
        self.most.map_or(0, |most| Self { items: most, ..self }.at(index).len)
    }

    /// The chunks between the ramps.
    fn between(self) -> usize {
        (self.most.unwrap_or(self.items) - 2 * self.ramp()).div_ceil(self.chunk)
    }

    /// The chunks of a ramp.
    fn steps(self) -> usize {
        self.steps as usize * self.each
    }

    /// The items of a ramp.
    fn ramp(self) -> usize {
        self.of_ramp(self.steps())
    }

    /// The items of so many chunks of a ramp, the smallest first.
    fn of_ramp(self, chunks: usize) -> usize {
        let halvings = self.halvings as usize;
        let length = |chunk: usize| self.chunk >> (halvings * (self.steps as usize - chunk / self.each));
        (0..chunks).map(length).sum()
    }

    /// The first item of a chunk; for an index after the last chunk, the end.
    pub(crate) fn start(self, index: usize) -> usize {
        if self.steps == 0 {
            return index.saturating_mul(self.chunk).min(self.items);
        }
        let steps = self.steps();
        let left = self.chunks().saturating_sub(index);
        if index <= steps {
            return self.of_ramp(index);
        }
        if left <= steps {
            return self.items - self.of_ramp(left);
        }
        self.ramp() + (index - steps) * self.chunk
    }

    /// The chunk at an index; after the last one, a chunk without items.
    pub(crate) fn at(self, index: usize) -> Chunk {
        let start = self.start(index);
        if self.steps == 0 {
            return Chunk { index, start, len: self.chunk.min(self.items - start) };
        }
        Chunk { index, start, len: self.start(index.saturating_add(1)) - start }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(chunking: Chunking) -> Vec<usize> {
        let chunks: Vec<Chunk> = (0..chunking.chunks()).map(|index| chunking.at(index)).collect();
        let mut next = 0;
        for (index, c) in chunks.iter().enumerate() {
            assert_eq!((c.index, c.start), (index, next), "{chunking:?}");
            assert!((1..=chunking.largest()).contains(&c.len), "{chunking:?}: {c:?}");
            next += c.len;
        }
        assert_eq!(next, chunking.items(), "{chunking:?}");
        for behind in [0, 1, 7, usize::MAX - chunking.chunks()] {
            assert_eq!(chunking.at(chunking.chunks() + behind).len, 0, "{chunking:?}");
        }
        chunks.iter().map(|c| c.len).collect()
    }

    #[test]
    fn ends_are_small_where_there_are_few_chunks() {
        let (whole, end) = (1024 * GRAIN, 2 * GRAIN);
        assert_eq!(
            lengths(Chunking::small_at_ends(4 * whole + 5, whole)),
            [end, whole, whole, whole, whole - 2 * end + 5, end]
        );
        // Chunks are not larger than a quarter of the run.
        let all = lengths(Chunking::small_at_ends(4 * whole, usize::MAX));
        assert_eq!((all[0], all.iter().max(), all.len()), (end, Some(&whole), 6));
        for items in [0, 1, 1000, 4 * WORTH_IT - 1] {
            let chunks = lengths(Chunking::small_at_ends(items, usize::MAX));
            assert_eq!(chunks, if items == 0 { vec![] } else { vec![items] });
        }
        assert_eq!(lengths(Chunking::small_at_ends(1000, 1000)).len(), 1);
    }

    #[test]
    fn even_chunks() {
        assert_eq!(lengths(Chunking::even(0, 3)), []);
        assert_eq!(lengths(Chunking::even(1, 3)), [1]);
        assert_eq!(lengths(Chunking::even(7, 3)), [3, 3, 1]);
        assert_eq!(lengths(Chunking::even(6, usize::MAX)), [6]);
    }

    #[test]
    fn as_few_but_equal() {
        assert_eq!(lengths(Chunking::equal(0, 3)), []);
        assert_eq!(lengths(Chunking::equal(7, 3)), [3, 3, 1]);
        let chunk = 5 * GRAIN + 1;
        assert_eq!(lengths(Chunking::equal(2 * chunk, chunk)), [chunk, chunk]);
        assert_eq!(lengths(Chunking::equal(2 * chunk + 1, chunk)), [4 * GRAIN, 4 * GRAIN, 2 * GRAIN + 3]);
        assert_eq!(lengths(Chunking::equal(8 * GRAIN - 7, chunk)), [4 * GRAIN, 4 * GRAIN - 7]);
    }

    /// There may be any number of items without bytes.
    #[test]
    fn the_most_items_are_cut() {
        for (items, chunk) in
            [(usize::MAX, usize::MAX), (usize::MAX, usize::MAX - 1), (usize::MAX - 9, usize::MAX / 2)]
        {
            for chunking in
                [Chunking::equal(items, chunk), Chunking::ramped(items, chunk), Chunking::even(items, chunk)]
            {
                lengths(chunking);
            }
        }
        assert_eq!(lengths(Chunking::equal(1, usize::MAX)), [1]);
        assert_eq!(lengths(Chunking::equal(1, 1)), [1]);
    }

    #[test]
    fn a_ramp_at_each_end() {
        let one = GRAIN;
        let whole = one << STEPS;
        let chunking = Chunking::ramped(17 * whole + 10, whole + 3);
        let (up, down) = ([1, 2, 4].map(|n| n * one), [4, 2, 1].map(|n| n * one));
        let between = [vec![whole; 15], vec![2 * one + 10]].concat();
        assert_eq!(lengths(chunking), [&up[..], &between, &down].concat());
    }

    #[test]
    fn ramps_are_for_long_runs_of_large_chunks() {
        let whole = GRAIN << STEPS;
        // The smallest number of items that is worth ramps, and one less.
        let least = ENOUGH * whole;
        assert_eq!(lengths(Chunking::ramped(least, whole))[..4], [1, 2, 4, 8].map(|n| n * GRAIN));
        assert_eq!(lengths(Chunking::ramped(least - 1, whole))[0], whole);
        // The smallest chunk has whole blocks, too.
        for more in [GRAIN, whole - GRAIN] {
            let chunking = Chunking::ramped(2 * least, whole + more);
            assert_eq!((chunking.largest(), lengths(chunking)[0]), (whole, GRAIN), "{more} items more");
        }
    }

    #[test]
    fn every_length_is_covered() {
        let whole = GRAIN << STEPS;
        for chunk in [1, GRAIN, whole - 1, whole, whole + 1, 3 * whole + 7] {
            for items in (0..100).map(|n| n * whole / 4 + n).chain([0, 1, 2, 1 << 30]) {
                if items / chunk < 100_000 {
                    lengths(Chunking::ramped(items, chunk));
                    lengths(Chunking::even(items, chunk));
                    lengths(Chunking::equal(items, chunk));
                }
            }
        }
    }
}
