//! Relations between operations, as rows of bits.

/// A set of ordered pairs of operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Relation {
    words: usize,
    /// Row after row: bit `to` of row `from` is the pair `(from, to)`.
    bits: Vec<u64>,
}

impl Relation {
    /// The empty relation on `size` operations.
    pub(super) fn empty(size: usize) -> Self {
        let words = size.div_ceil(64);
        Self { words, bits: vec![0; size * words] }
    }

    /// Each of `size` operations with itself.
    pub(super) fn identity(size: usize) -> Self {
        let mut relation = Self::empty(size);
        for op in 0..size {
            relation.bits[op * relation.words + op / 64] |= 1 << (op % 64);
        }
        relation
    }

    pub(super) fn contains(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bits.iter().all(|&word| word == 0)
    }

    pub(super) fn is_subset_of(&self, other: &Self) -> bool {
        self.bits.iter().zip(&other.bits).all(|(own, other)| own & !other == 0)
    }

    pub(super) fn unite(&mut self, other: &Self) {
        for (own, other) in self.bits.iter_mut().zip(&other.bits) {
            *own |= other;
        }
    }

    pub(super) fn intersect(&mut self, other: &Self) {
        for (own, other) in self.bits.iter_mut().zip(&other.bits) {
            *own &= other;
        }
    }

    /// Leaves only the pairs that `keep` accepts.
    pub(super) fn retain(&mut self, keep: impl Fn(usize, usize) -> bool) {
        for index in 0..self.bits.len() {
            let (row, first) = self.position(index);
            for bit in ones(self.bits[index]) {
                if !keep(row, first + bit) {
                    self.bits[index] &= !(1 << bit);
                }
            }
        }
    }

    /// Relates `from` to all that `source` relates `row` to.
    pub(super) fn extend_row(&mut self, from: usize, source: &Self, row: usize) {
        for word in 0..self.words {
            self.bits[from * self.words + word] |= source.bits[row * self.words + word];
        }
    }

    /// Relates `from` to all that `row` is related to.
    pub(super) fn copy_row(&mut self, from: usize, row: usize) {
        for word in 0..self.words {
            self.bits[from * self.words + word] |= self.bits[row * self.words + word];
        }
    }

    /// The pairs `(a, c)` with `(a, b)` in `self` and `(b, c)` in `next` for some `b`.
    pub(super) fn then(&self, next: &Self) -> Self {
        let mut product = Self { words: self.words, bits: vec![0; self.bits.len()] };
        for (index, &word) in self.bits.iter().enumerate() {
            let (row, first) = self.position(index);
            for bit in ones(word) {
                product.extend_row(row, next, first + bit);
            }
        }
        product
    }

    /// The row of a word, and the operation of its lowest bit.
    fn position(&self, index: usize) -> (usize, usize) {
        (index / self.words, index % self.words * 64)
    }
}

/// The places of the bits that are set.
fn ones(word: u64) -> impl Iterator<Item = usize> {
    let rest = |&word: &u64| Some(word & (word - 1)).filter(|&rest| rest != 0);
    let words = std::iter::successors(Some(word).filter(|&word| word != 0), rest);
    words.map(|word| word.trailing_zeros() as usize)
}
