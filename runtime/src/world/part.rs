//! A rank's part of data.

use std::ops::Range;

use super::World;

impl World {
    /// This rank's part of `items` items: as many as any other rank's, or one more.
    ///
    /// ```
    /// use thalweg::World;
    ///
    /// assert_eq!(World::alone().part(10), 0..10);
    /// ```
    pub fn part(&self, items: usize) -> Range<usize> {
        part(items, self.rank(), self.size())
    }
}

/// The parts of the first ranks have one item more, if the items cannot be shared equally.
fn part(items: usize, rank: usize, size: usize) -> Range<usize> {
    let (each, more) = (items / size, items % size);
    let start = rank * each + rank.min(more);
    start..start + each + usize::from(rank < more)
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts_cover_all_items_once() {
        for items in [0, 1, 3, 4, 5, 1000, usize::MAX] {
            for size in [1, 2, 3, 64] {
                let parts: Vec<_> = (0..size).map(|rank| part(items, rank, size)).collect();
                assert_eq!((parts[0].start, parts[size - 1].end), (0, items), "{size} ranks");
                assert!(parts.windows(2).all(|two| two[0].end == two[1].start), "{size} ranks");
                let lengths = parts.iter().map(Range::len);
                assert!(lengths.clone().max().unwrap() - lengths.min().unwrap() <= 1, "{size} ranks");
            }
        }
    }

    use std::ops::Range;
}
