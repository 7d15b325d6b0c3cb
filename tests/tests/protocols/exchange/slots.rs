//! A caller's accesses to the memory of a slot, where loom sees them.

use bytemuck::Pod;
use loom::cell::UnsafeCell;

/// The bytes of a slot.
const BYTES: usize = 2;

/// A slot; the exchange gets its address.
pub(super) struct Slot(UnsafeCell<[u8; BYTES]>);

// SAFETY: loom finds out whether two threads access it at once.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

impl Slot {
    pub(super) fn new(bytes: [u8; BYTES]) -> Self {
        Self(UnsafeCell::new(bytes))
    }

    pub(super) fn address(&self) -> *mut u8 {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    fn look<R>(&self, at: impl FnOnce(&[u8; BYTES]) -> R) -> R {
        // SAFETY: nobody writes it at the same time, or loom reports that first.
        self.0.with(|bytes| at(unsafe { &*bytes }))
    }

    fn change(&self, how: impl FnOnce(&mut [u8; BYTES])) {
        // SAFETY: nobody accesses it at the same time, or loom reports that first.
        self.0.with_mut(|bytes| how(unsafe { &mut *bytes }));
    }

    /// A read by the run or its device.
    pub(super) fn get(&self) -> [u8; BYTES] {
        self.look(|bytes| *bytes)
    }

    /// A write by the run or its device.
    pub(super) fn set(&self, bytes: [u8; BYTES]) {
        self.change(|slot| *slot = bytes);
    }
}

unsafe fn slot<'a>(address: *mut u8) -> &'a Slot {
    // SAFETY: the models give addresses of slots, which live until their execution ends.
    unsafe { &*address.cast::<Slot>() }
}

pub(super) unsafe fn write<T: Pod>(to: *mut u8, at: usize, data: &[T]) {
    let (start, data) = (at * size_of::<T>(), bytemuck::cast_slice::<T, u8>(data));
    // SAFETY: the function's caller promises it.
    unsafe { slot(to) }.change(|slot| slot[start..][..data.len()].copy_from_slice(data));
}

pub(super) unsafe fn read<T: Pod>(from: *mut u8, at: usize, to: &mut [T]) {
    let (start, to) = (at * size_of::<T>(), bytemuck::cast_slice_mut::<T, u8>(to));
    // SAFETY: the function's caller promises it.
    unsafe { slot(from) }.look(|slot| to.copy_from_slice(&slot[start..][..to.len()]));
}

pub(super) unsafe fn append(from: *mut u8, bytes: usize, to: &mut Vec<u8>) {
    // SAFETY: the function's caller promises it.
    unsafe { slot(from) }.look(|slot| to.extend_from_slice(&slot[..bytes]));
}

pub(super) unsafe fn copy(from: *mut u8, to: *mut u8, bytes: usize) {
    // SAFETY: the function's caller promises it.
    let (from, to) = unsafe { (slot(from), slot(to)) };
    from.look(|from| to.change(|to| to[..bytes].copy_from_slice(&from[..bytes])));
}
