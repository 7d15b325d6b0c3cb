//! The sizes of items and buffers.

use crate::base::chunk::Chunk;
use crate::base::error::Detail;
use crate::driver::DevicePtr;
use crate::engine::arguments::in_place::InPlace;

/// A declaration's size: elements for each item, or for each chunk.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Bytes of one element.
    element: usize,
    /// Elements in one item, or for one chunk.
    per_item: usize,
    /// Items that a chunk sees on each side besides its own.
    halo: usize,
    per_chunk: bool,
}

impl Size {
    /// `per_item` elements for each item.
    pub const fn of<T>(per_item: usize) -> Self {
        Self { element: size_of::<T>(), per_item, halo: 0, per_chunk: false }
    }

    /// The same number of elements, for each chunk.
    #[must_use]
    pub const fn per_chunk(self) -> Self {
        Self { per_chunk: true, ..self }
    }

    /// The same size with `items` more items on each side of a chunk.
    #[must_use]
    pub const fn with_halo(self, items: usize) -> Self {
        Self { halo: items, ..self }
    }

    /// Bytes for a chunk of `items`, saturating at the greatest number.
    pub(crate) const fn bytes_for(self, items: usize) -> usize {
        let items = if self.per_chunk { 1 } else { items.saturating_add(self.halo.saturating_mul(2)) };
        self.element.saturating_mul(self.per_item).saturating_mul(items)
    }
}

/// The contents beyond the first and the last item of an argument with a halo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// Repeats the first and the last item.
    Clamp,
    /// Zero bytes.
    Zero,
    /// The items at the other end of the argument.
    Wrap,
}

/// The shape of one item of an argument or a buffer, checked by a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Bytes of one element.
    pub(crate) element: usize,
    /// Elements in one item, or for one chunk.
    pub(crate) per_item: usize,
    pub(crate) halo: usize,
    pub(crate) edge: Edge,
    pub(crate) per_chunk: bool,
}

impl Shape {
    pub(crate) fn new(name: &'static str, size: Size, edge: Edge) -> Result<Self, Detail> {
        let Size { element, per_item, halo, per_chunk } = size;
        let fits = |items: usize| {
            let bytes = element.checked_mul(per_item).and_then(|bytes| bytes.checked_mul(items));
            bytes.is_some_and(|bytes| bytes <= isize::MAX as usize)
        };
        if per_item == 0 || !fits(1) {
            return Err(Detail::ItemSize { buffer: name, per_item });
        }
        // Per-chunk data have no items around them.
        let halo = if per_chunk { 0 } else { halo };
        // A halo of many items without bytes would still have to be counted.
        let most = || halo.checked_mul(2).and_then(|items| items.checked_add(1));
        if halo > 0 && most().is_none_or(|items| !fits(items) || items > isize::MAX as usize) {
            return Err(Detail::HaloSize { buffer: name, halo });
        }
        Ok(Self { element, per_item, halo, edge, per_chunk })
    }

    /// Bytes of an item, or of one chunk's elements.
    pub(crate) fn bytes(self) -> usize {
        self.element * self.per_item
    }

    /// A chunk's part of an argument: the offset of its first byte, and its length in bytes.
    pub(crate) fn range(self, c: Chunk) -> (usize, usize) {
        if self.per_chunk {
            return (c.index * self.bytes(), self.bytes());
        }
        (c.start * self.bytes(), c.len * self.bytes())
    }

    /// The number of items of this shape that a chunk of `items` items has.
    pub(crate) fn items(self, items: usize) -> usize {
        if self.per_chunk { 1 } else { items.saturating_add(2 * self.halo) }
    }
}

/// The location of a buffer's memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BufferPlace {
    /// In the ring, on the device.
    Ring,
    /// In the ring, in page-locked host memory.
    HostRing,
    /// Once for the run, with so many elements.
    Shared(usize),
    /// In the ring, with so many elements that the chunks of a slot hand on.
    SharedPerSlot(usize),
    /// Once for the run, as an argument: its start and its length in elements.
    SharedInPlace(DevicePtr, usize),
    /// An argument of the run, or the part of it that the device has: its start, its length in bytes, and the bytes of the
    /// argument before it.
    InPlace(DevicePtr, usize, usize),
    /// The host argument of this index, on a device that shares the host's memory: its start and its length in
    /// bytes. The plan's copies between the two are left out.
    Host(usize, DevicePtr, usize),
    /// As `Host`, except in chunks that see items beyond the first or the last one: these are made in the ring.
    HostWithin(usize, DevicePtr, usize),
    /// Once for the run, as an argument in the host's memory, which such a device reads there: its start and its
    /// length in elements.
    SharedHost(DevicePtr, usize),
}

/// A buffer of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BufferShape {
    pub(crate) shape: Shape,
    pub(crate) place: BufferPlace,
}

impl BufferShape {
    /// Its bytes in a chunk of `items` items.
    pub(crate) fn bytes(self, items: usize) -> usize {
        self.len(items).saturating_mul(self.shape.element)
    }

    /// Its elements in a chunk of `items` items.
    pub(crate) fn len(self, items: usize) -> usize {
        match self.place {
            BufferPlace::Shared(len)
            | BufferPlace::SharedPerSlot(len)
            | BufferPlace::SharedInPlace(_, len)
            | BufferPlace::SharedHost(_, len) => len,
            // An item of zero-sized elements may have any number of them.
            _ => self.shape.items(items).saturating_mul(self.shape.per_item),
        }
    }

    /// Whether it is an argument that is used where it lies.
    pub(crate) fn is_in_place(self) -> bool {
        matches!(self.place, BufferPlace::InPlace(..) | BufferPlace::SharedInPlace(..))
    }

    /// Uses a device's part of the argument, or its copy.
    pub(crate) fn use_part(&mut self, data: &InPlace) {
        match &mut self.place {
            BufferPlace::InPlace(ptr, bytes, first) => {
                (*ptr, *bytes, *first) = (data.ptr(), data.bytes(), data.first);
            }
            BufferPlace::SharedInPlace(ptr, _) => *ptr = data.ptr(),
            _ => {}
        }
    }

    /// The host argument that it is, if it is one.
    pub(crate) fn host(self) -> Option<usize> {
        if let BufferPlace::Host(host, ..) = self.place { Some(host) } else { None }
    }

    /// Whether it is memory of the caller's on the host.
    pub(crate) fn is_on_host(self) -> bool {
        matches!(
            self.place,
            BufferPlace::Host(..) | BufferPlace::HostWithin(..) | BufferPlace::SharedHost(..)
        )
    }

    /// Whether each item has a part of it.
    pub(crate) fn is_by_item(self) -> bool {
        !self.is_shared() && !self.shape.per_chunk
    }

    pub(crate) fn is_shared(self) -> bool {
        matches!(
            self.place,
            BufferPlace::Shared(_)
                | BufferPlace::SharedPerSlot(_)
                | BufferPlace::SharedInPlace(..)
                | BufferPlace::SharedHost(..)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: Chunk = Chunk { index: 3, start: 30, len: 7 };

    #[test]
    fn a_chunks_part_is_its_items() {
        let shape = Shape::new("x", Size::of::<u32>(3), Edge::Clamp).expect("it fits");
        assert_eq!(shape.bytes(), 12);
        assert_eq!(shape.range(CHUNK), (360, 84));
    }

    #[test]
    fn what_one_chunk_has_for_itself_is_its_part() {
        let shape = Shape::new("x", Size::of::<u32>(3).per_chunk(), Edge::Clamp).expect("it fits");
        assert_eq!((shape.range(CHUNK), shape.items(7)), ((36, 12), 1));
    }

    #[test]
    fn a_buffer_has_what_its_place_has() {
        let shape = Shape::new("x", Size::of::<u32>(3), Edge::Clamp).expect("it fits");
        let at = DevicePtr(64);
        for (place, is_in_place, is_shared, len) in [
            (BufferPlace::Ring, false, false, 21),
            (BufferPlace::HostRing, false, false, 21),
            (BufferPlace::Shared(5), false, true, 5),
            (BufferPlace::SharedPerSlot(5), false, true, 5),
            (BufferPlace::SharedInPlace(at, 5), true, true, 5),
            (BufferPlace::InPlace(at, 1 << 10, 0), true, false, 21),
        ] {
            let buffer = BufferShape { shape, place };
            assert_eq!((buffer.is_in_place(), buffer.is_shared()), (is_in_place, is_shared), "{place:?}");
            assert_eq!((buffer.len(7), buffer.bytes(7)), (len, 4 * len), "{place:?}");
        }
    }

    #[test]
    fn a_chunk_sees_its_halo_at_both_ends() {
        let size = Size::of::<u16>(5).with_halo(2);
        let shape = Shape::new("x", size, Edge::Zero).expect("it fits");
        assert_eq!((shape.items(7), size.bytes_for(7)), (11, 110));
        // Per-chunk data have nothing around them.
        let shape = Shape::new("x", size.per_chunk(), Edge::Zero).expect("it fits");
        assert_eq!((shape.halo, shape.items(7), size.per_chunk().bytes_for(7)), (0, 1, 10));
    }
}
