//! [`OwnView`]: memory of which each thread of a kernel in Rust has its own elements.

use std::ffi::c_void;

use super::view::{Uneven, ViewMut};
use crate::backends::sim::Promise;
use crate::base::in_rust::{Copies, Out, Own};
use crate::driver::Access;

/// Device memory with a shape of `D` axes, the one that varies fastest last.
#[derive(Debug)]
#[doc(hidden)]
pub struct OwnView<T, const D: usize> {
    view: ViewMut<T>,
    shape: [usize; D],
}

impl<T, const D: usize> Clone for OwnView<T, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const D: usize> Copy for OwnView<T, D> {}

impl<T, const D: usize> OwnView<T, D> {
    pub(crate) fn new(view: ViewMut<T>, shape: [usize; D]) -> Self {
        Self { view, shape }
    }

    /// The length of each axis, as the launch gives them; conditions may name them. It takes `self` by value, as
    /// [`ViewMut::len`] does.
    #[inline]
    pub fn shape(self) -> [usize; D] {
        self.shape
    }

    /// The number of elements in memory.
    pub(crate) fn elements(&self) -> usize {
        self.view.elements()
    }

    /// What the launch is refused for, if `T` is an array of elements of which some are left over.
    pub fn uneven(&self) -> Option<Uneven> {
        self.view.uneven()
    }
}

impl<T, const D: usize> OwnView<T, D> {
    /// The memory where a launch on the host has it: a copy, or the device's own.
    pub fn within(self, copies: &Copies) -> Self {
        Self { view: self.view.within(copies), ..self }
    }

    /// The number of elements. It takes `self` by value, as [`ViewMut::len`] does.
    #[inline]
    pub fn len(self) -> usize {
        self.view.len()
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.view.is_empty()
    }

    /// The address of the pointer, as `cuLaunchKernel` takes arguments.
    #[inline]
    pub fn argument(&self) -> *mut c_void {
        self.view.argument()
    }

    /// The address of the shape, as `cuLaunchKernel` takes arguments.
    #[inline]
    pub fn shape_argument(&self) -> *mut c_void {
        (&raw const self.shape).cast_mut().cast()
    }

    /// The access that the kernel has through it.
    #[inline]
    pub fn access(&self) -> Access {
        self.view.access()
    }

    /// The promise of the parameter `&mut Out<[T]>` of that name: the kernel writes all of this memory.
    pub fn promise(&self, parameter: &'static str) -> Promise {
        self.view.promise(parameter).by_threads()
    }

    /// The handle for a kernel that reads and writes its elements, if device memory is host memory.
    ///
    /// # Safety
    /// The promises of [`ViewMut::slice_mut`] hold, and the launch was found to
    /// [cover](crate::kernel::Launch) the shape, or to count along its axes alone.
    #[inline]
    pub unsafe fn own(&self) -> Own<[T]> {
        // SAFETY: the caller's promise. The shape has no more elements than the memory, as the launch has
        // checked.
        unsafe { Own::new(self.view.parts().0, self.axes()) }
    }

    /// The handle for a kernel that writes its elements, if device memory is host memory.
    ///
    /// # Safety
    /// The promises of [`own`](Self::own) hold.
    #[inline]
    pub unsafe fn out(&self) -> Out<[T]> {
        // SAFETY: as in `own`.
        unsafe { Out::new(self.view.parts().0, self.axes()) }
    }

    /// The shape as three axes, of which the first are 1.
    fn axes(&self) -> [usize; 3] {
        let mut axes = [1; 3];
        axes[3 - D..].copy_from_slice(&self.shape);
        axes
    }
}
