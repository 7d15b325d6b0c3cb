//! What a caller does with the memory of a slot, where loom sees it.

use bytemuck::Pod;
use loom::cell::UnsafeCell;

/// The bytes of a slot.
const BYTES: usize = 2;

/// A slot, whose address is what the exchange is given.
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
        // SAFETY: nobody writes it meanwhile, else loom says so first.
        self.0.with(|bytes| at(unsafe { &*bytes }))
    }

    fn change(&self, how: impl FnOnce(&mut [u8; BYTES])) {
        // SAFETY: nobody accesses it meanwhile, else loom says so first.
        self.0.with_mut(|bytes| how(unsafe { &mut *bytes }));
    }

    /// What the run or its device reads.
    pub(super) fn get(&self) -> [u8; BYTES] {
        self.look(|bytes| *bytes)
    }

    /// What the run or its device writes.
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
    // SAFETY: as the function's.
    unsafe { slot(to) }.change(|slot| slot[start..][..data.len()].copy_from_slice(data));
}

pub(super) unsafe fn read<T: Pod>(from: *mut u8, at: usize, to: &mut [T]) {
    let (start, to) = (at * size_of::<T>(), bytemuck::cast_slice_mut::<T, u8>(to));
    // SAFETY: as the function's.
    unsafe { slot(from) }.look(|slot| to.copy_from_slice(&slot[start..][..to.len()]));
}

pub(super) unsafe fn append(from: *mut u8, bytes: usize, to: &mut Vec<u8>) {
    // SAFETY: as the function's.
    unsafe { slot(from) }.look(|slot| to.extend_from_slice(&slot[..bytes]));
}

pub(super) unsafe fn copy(from: *mut u8, to: *mut u8, bytes: usize) {
    // SAFETY: as the function's.
    let (from, to) = unsafe { (slot(from), slot(to)) };
    from.look(|from| to.change(|to| to[..bytes].copy_from_slice(&from[..bytes])));
}
