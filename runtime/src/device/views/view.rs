//! [`View`]: memory on a device as a launch is told of it.

use std::ffi::c_void;
use std::marker::PhantomData;

use bytemuck::Pod;

use crate::backends::sim::Promise;
use crate::driver::{Access, DevicePtr};

/// Device memory that a kernel reads.
#[derive(Debug)]
#[doc(hidden)]
pub struct View<T> {
    ptr: DevicePtr,
    len: usize,
    elements: PhantomData<fn() -> T>,
}

/// Device memory that a kernel writes.
#[derive(Debug)]
#[doc(hidden)]
pub struct ViewMut<T> {
    ptr: DevicePtr,
    len: usize,
    /// All of it, and without reading it.
    anew: bool,
    elements: PhantomData<fn() -> T>,
}

macro_rules! view {
    ($view:ident) => {
        impl<T> Clone for $view<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $view<T> {}

        impl<T> $view<T> {
            pub(crate) fn into_view(self) -> Self {
                self
            }

            pub(super) fn ptr(&self) -> DevicePtr {
                self.ptr
            }

            pub(super) fn elements(&self) -> usize {
                self.len
            }

            /// Where it begins, where device memory is host memory, and its elements.
            pub(crate) fn parts(self) -> (*mut T, usize) {
                (std::ptr::with_exposed_provenance_mut(self.ptr.0 as usize), self.len)
            }
        }

        impl<T: Pod> $view<T> {
            /// The length in elements. It takes `self` by value, so that it comes before every trait's method
            /// in a kernel's requirements.
            #[inline]
            pub fn len(self) -> usize {
                self.len
            }

            /// Whether there are no elements.
            #[inline]
            pub fn is_empty(self) -> bool {
                self.len == 0
            }

            /// The address of the pointer, as `cuLaunchKernel` takes arguments.
            #[inline]
            pub fn argument(&self) -> *mut c_void {
                (&raw const self.ptr).cast_mut().cast()
            }

            /// The bytes of what [`argument`](Self::argument) points to.
            #[inline]
            pub fn argument_size(&self) -> usize {
                size_of::<DevicePtr>()
            }
        }
    };
}
view!(View);
view!(ViewMut);

impl<T> View<T> {
    pub(crate) fn new(ptr: DevicePtr, len: usize) -> Self {
        Self { ptr, len, elements: PhantomData }
    }
}

impl<T> ViewMut<T> {
    /// Of what is read and written.
    pub(crate) fn new(ptr: DevicePtr, len: usize) -> Self {
        Self { ptr, len, anew: false, elements: PhantomData }
    }

    /// Of what is an `out`.
    pub(crate) fn out(ptr: DevicePtr, len: usize) -> Self {
        Self { anew: true, ..Self::new(ptr, len) }
    }
}

impl<T: Pod> View<T> {
    /// What the kernel may touch through it.
    #[inline]
    pub fn access(&self) -> Access {
        Access { ptr: self.ptr, bytes: self.len * size_of::<T>(), write: false, anew: false }
    }

    /// The memory as a slice, where device memory is host memory.
    ///
    /// The slice borrows the view, so that a host body cannot keep it:
    ///
    /// ```compile_fail,E0515
    /// fn kept(view: thalweg::__private::View<f32>) -> &'static [f32] {
    ///     unsafe { view.slice() }
    /// }
    /// ```
    ///
    /// # Safety
    /// On the simulated device only, while it executes the launch that this view was made for; the borrow ends with it.
    #[inline]
    pub unsafe fn slice(&self) -> &[T] {
        // SAFETY: the view lies in one live allocation of the simulated device (it was checked when it was made),
        // aligned to 256 bytes and initialised; `T: Pod` accepts any bytes. No other launch runs at the same time, and
        // `Launch::enqueue` refused overlapping views of which one is mutable.
        unsafe { std::slice::from_raw_parts(self.ptr.0 as *const T, self.len) }
    }
}

impl<T: Pod> ViewMut<T> {
    /// What the kernel may touch through it.
    #[inline]
    pub fn access(&self) -> Access {
        Access { ptr: self.ptr, bytes: self.len * size_of::<T>(), write: true, anew: self.anew }
    }

    /// The promise of the parameter `Out<[T]>` of that name: the kernel writes all of this memory.
    pub fn promise(&self, parameter: &'static str) -> Promise {
        Promise::new(parameter, self.access(), size_of::<T>())
    }

    /// The memory as a slice, where device memory is host memory.
    ///
    /// # Safety
    /// As [`View::slice`], and no other slice of it is in use.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "the memory is the device's, not the view's")]
    pub unsafe fn slice_mut(&self) -> &mut [T] {
        // SAFETY: as in `View::slice`.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.0 as *mut T, self.len) }
    }
}
