//! How large an item and a buffer are.

use crate::error::ErrorKind;

/// One item of a host argument or a buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Bytes of one element.
    pub(super) element: usize,
    /// Elements in one item.
    pub(super) per_item: usize,
}

impl Shape {
    pub(super) fn new(name: &'static str, element: usize, per_item: usize) -> Result<Self, ErrorKind> {
        if per_item == 0 || element.checked_mul(per_item).is_none_or(|bytes| bytes > isize::MAX as usize) {
            return Err(ErrorKind::ItemSize { buffer: name, per_item });
        }
        Ok(Self { element, per_item })
    }

    pub(super) fn bytes(self) -> usize {
        self.element * self.per_item
    }
}

/// A device buffer of a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct BufferShape {
    pub(super) shape: Shape,
    /// The elements of one that is the whole run's.
    pub(super) shared: Option<usize>,
}

impl BufferShape {
    /// Its bytes where a chunk has `items`.
    pub(super) fn bytes(self, items: usize) -> usize {
        self.shared.map_or(items.saturating_mul(self.shape.bytes()), |len| len * self.shape.element)
    }

    /// Its elements where a chunk has `items`.
    pub(super) fn len(self, items: usize) -> usize {
        // An item of elements that take no room may have any number of them.
        self.shared.unwrap_or(items.saturating_mul(self.shape.per_item))
    }
}
