//! [`AtomicView`]: memory that all threads of a kernel in Rust change at once.

use std::ffi::c_void;

use super::view::ViewMut;
use crate::base::in_rust::KernelAtomic;
use crate::driver::Access;

/// Device memory of plain numbers that a kernel takes as `&[A]`.
#[derive(Debug)]
#[doc(hidden)]
pub struct AtomicView<A: KernelAtomic>(ViewMut<A::Number>);

impl<A: KernelAtomic> Clone for AtomicView<A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<A: KernelAtomic> Copy for AtomicView<A> {}

impl<A: KernelAtomic> AtomicView<A> {
    pub(crate) fn new(view: ViewMut<A::Number>) -> Self {
        Self(view)
    }

    /// The number of elements. It takes `self` by value, as [`ViewMut::len`] does.
    #[inline]
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The address of the pointer, as `cuLaunchKernel` takes arguments.
    #[inline]
    pub fn argument(&self) -> *mut c_void {
        self.0.argument()
    }

    /// The address of the number of elements, as `cuLaunchKernel` takes arguments.
    #[inline]
    pub fn length_argument(&self) -> *mut c_void {
        self.0.length_argument()
    }

    /// The access that the kernel has through it: it reads and writes.
    #[inline]
    pub fn access(&self) -> Access {
        self.0.access()
    }

    /// The memory as atomics, if device memory is host memory.
    ///
    /// # Safety
    /// The promises of [`View::slice`](super::View::slice) hold, and the memory is not in use but through this.
    #[inline]
    pub unsafe fn slice(&self) -> &[A] {
        let (data, len) = self.0.parts();
        // SAFETY: as in `View::slice`; an atomic has the size and the bits of its number, which `KernelAtomic`'s
        // module asserts, and every number is one. The memory is aligned to its number's size, since the device
        // aligns allocations to 256 bytes, and that is an atomic's alignment. Nothing but these atomics reads or
        // writes it, by the caller's promise.
        unsafe { std::slice::from_raw_parts(data.cast::<A>(), len) }
    }
}
