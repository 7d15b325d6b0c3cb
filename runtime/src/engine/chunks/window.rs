//! [`Window`]: the items that a chunk sees, its own and those around it.

use crate::base::chunk::Chunk;
use crate::engine::arguments::shape::{Edge, Shape};

/// The items of a chunk with its halo: those that exist, and those made up before and after them.
pub(crate) struct Window {
    shape: Shape,
    /// Items of the run.
    items: usize,
    /// The range of items that exist; the end is exclusive.
    inside: (usize, usize),
    before: usize,
    after: usize,
}

impl Window {
    /// The window of a chunk that is not empty.
    pub(crate) fn new(chunk: Chunk, items: usize, shape: Shape) -> Self {
        let end = chunk.start + chunk.len;
        let inside = (chunk.start.saturating_sub(shape.halo), end.saturating_add(shape.halo).min(items));
        let before = shape.halo - (chunk.start - inside.0);
        let after = shape.halo - (inside.1 - end);
        Self { shape, items, inside, before, after }
    }

    /// Bytes made up before the existing items, bytes of these, and bytes made up after them.
    pub(crate) fn bytes(&self) -> (usize, usize, usize) {
        let item = self.shape.bytes();
        (self.before * item, (self.inside.1 - self.inside.0) * item, self.after * item)
    }

    /// The offset of the existing items in the argument.
    pub(crate) fn first_byte(&self) -> usize {
        self.inside.0 * self.shape.bytes()
    }

    /// Makes up the items before the first one.
    ///
    /// # Safety
    /// `to` has room for these items, and `data` is all items of the run.
    pub(crate) unsafe fn make_before(&self, to: *mut u8, data: *const u8) {
        for index in 0..self.before {
            let item = match self.shape.edge {
                Edge::Clamp => Some(0),
                Edge::Zero => None,
                // `before` items back from the first one, with which the window begins.
                Edge::Wrap => Some((self.items - (self.before - index) % self.items) % self.items),
            };
            // SAFETY: the caller's promise; the item is one of the run's.
            unsafe { self.make(to, index, data, item) };
        }
    }

    /// Makes up the items after the last one.
    ///
    /// # Safety
    /// Those of [`make_before`](Self::make_before).
    pub(crate) unsafe fn make_after(&self, to: *mut u8, data: *const u8) {
        for index in 0..self.after {
            let item = match self.shape.edge {
                Edge::Clamp => Some(self.items - 1),
                Edge::Zero => None,
                Edge::Wrap => Some(index % self.items),
            };
            // SAFETY: the caller's promise; the item is one of the run's.
            unsafe { self.make(to, index, data, item) };
        }
    }

    /// # Safety
    /// `to` has room for more than `index` items, and `data` has more than `item`.
    unsafe fn make(&self, to: *mut u8, index: usize, data: *const u8, item: Option<usize>) {
        let bytes = self.shape.bytes();
        // SAFETY: the caller's promise.
        unsafe {
            let to = to.add(index * bytes);
            match item {
                Some(item) => std::ptr::copy_nonoverlapping(data.add(item * bytes), to, bytes),
                None => to.write_bytes(0, bytes),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::arguments::shape::Size;

    /// The items that each chunk sees, made up or not.
    fn windows(items: usize, chunk: usize, halo: usize, edge: Edge) -> Vec<Vec<u16>> {
        let data: Vec<u16> = (1..=items as u16).collect();
        let shape = Shape::new("x", Size::of::<u16>(1).with_halo(halo), edge).unwrap();
        let chunks = (0..items.div_ceil(chunk)).map(|index| {
            let start = index * chunk;
            let c = Chunk { index, start, len: chunk.min(items - start) };
            let window = Window::new(c, items, shape);
            let (before, inside, after) = window.bytes();
            let mut seen = vec![0_u16; (before + inside + after) / 2];
            assert_eq!(seen.len(), c.len + 2 * halo);
            let first = window.first_byte() / 2;
            seen[before / 2..][..inside / 2].copy_from_slice(&data[first..][..inside / 2]);
            let to = seen.as_mut_ptr().cast::<u8>();
            // SAFETY: `seen` has room for the whole window.
            unsafe {
                window.make_before(to, data.as_ptr().cast());
                window.make_after(to.add(before + inside), data.as_ptr().cast());
            }
            seen
        });
        chunks.collect()
    }

    #[test]
    fn a_window_ends_at_the_edges() {
        assert_eq!(windows(5, 2, 1, Edge::Clamp), [vec![1, 1, 2, 3], vec![2, 3, 4, 5], vec![4, 5, 5]]);
        assert_eq!(windows(5, 2, 1, Edge::Zero), [vec![0, 1, 2, 3], vec![2, 3, 4, 5], vec![4, 5, 0]]);
        assert_eq!(windows(5, 2, 1, Edge::Wrap), [vec![5, 1, 2, 3], vec![2, 3, 4, 5], vec![4, 5, 1]]);
    }

    #[test]
    fn a_halo_may_be_wider_than_the_data() {
        assert_eq!(windows(2, 1, 5, Edge::Wrap)[0], [2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
        assert_eq!(windows(2, 1, 5, Edge::Wrap)[1], [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1]);
        assert_eq!(windows(1, 9, 2, Edge::Clamp), [[1, 1, 1, 1, 1]]);
        assert_eq!(windows(1, 9, 2, Edge::Zero), [[0, 0, 1, 0, 0]]);
        assert_eq!(windows(1, 9, 2, Edge::Wrap), [[1, 1, 1, 1, 1]]);
    }
}
