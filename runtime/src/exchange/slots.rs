//! A caller's operations on the memory of a slot. In the models of the tests' `protocols`, other functions
//! replace these to find out whether two threads use one slot.

use bytemuck::Pod;

/// Writes elements to a slot, starting with element `at`.
///
/// # Safety
/// The slot is the caller's, is aligned for `T` and has room for as many elements.
pub(super) unsafe fn write<T: Pod>(slot: *mut u8, at: usize, data: &[T]) {
    // SAFETY: the caller's promise; memory that the caller has borrowed is not a slot.
    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), slot.cast::<T>().add(at), data.len()) };
}

/// Reads elements of a slot, starting with element `at`.
///
/// # Safety
/// The slot is the caller's, is aligned for `T` and has as many elements, which are initialised.
pub(super) unsafe fn read<T: Pod>(slot: *mut u8, at: usize, to: &mut [T]) {
    // SAFETY: as above.
    unsafe {
        std::ptr::copy_nonoverlapping(slot.cast::<T>().add(at).cast_const(), to.as_mut_ptr(), to.len())
    };
}

/// Appends the bytes of a slot to `to`.
///
/// # Safety
/// The slot is the caller's and has as many bytes, which are initialised.
pub(super) unsafe fn append(slot: *mut u8, bytes: usize, to: &mut Vec<u8>) {
    // SAFETY: the caller's promise.
    to.extend_from_slice(unsafe { std::slice::from_raw_parts(slot, bytes) });
}

/// Copies the first bytes of one slot to another.
///
/// # Safety
/// Both slots are the caller's and have as many bytes, initialised in the first one.
pub(super) unsafe fn copy(from: *mut u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise; slots do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
}
