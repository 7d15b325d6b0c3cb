//! [`View`] and [`ViewMut`]: memory on a device as launches take it.

use std::ffi::c_void;
use std::marker::PhantomData;

use crate::backends::sim::Promise;
use crate::base::in_rust::Copies;
use crate::driver::{Access, DevicePtr};

/// Memory whose elements a kernel takes `group` by `group`, of which there is no whole number.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Uneven {
    pub(crate) group: usize,
    /// The elements of the memory.
    pub(crate) elements: usize,
}

/// The number of groups of `N` elements, and what is wrong if some are left over.
fn groups<const N: usize>(elements: usize) -> (usize, Option<Uneven>) {
    const { assert!(N > 0, "a kernel cannot take arrays of no elements") };
    let uneven = (!elements.is_multiple_of(N)).then_some(Uneven { group: N, elements });
    (elements / N, uneven)
}

/// Device memory that a kernel reads.
#[derive(Debug)]
#[doc(hidden)]
pub struct View<T> {
    ptr: DevicePtr,
    len: usize,
    uneven: Option<Uneven>,
    elements: PhantomData<fn() -> T>,
}

/// Device memory that a kernel writes.
#[derive(Debug)]
#[doc(hidden)]
pub struct ViewMut<T> {
    ptr: DevicePtr,
    len: usize,
    uneven: Option<Uneven>,
    /// Whether the kernel writes all of it without reading it.
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
            pub(super) fn ptr(&self) -> DevicePtr {
                self.ptr
            }

            pub(crate) fn elements(&self) -> usize {
                self.len
            }

            /// What the launch is refused for, if `T` is an array of elements of which some are left over.
            pub fn uneven(&self) -> Option<Uneven> {
                self.uneven
            }

            /// The pointer to the first element, if device memory is host memory, and the number of elements.
            pub(crate) fn parts(self) -> (*mut T, usize) {
                (std::ptr::with_exposed_provenance_mut(self.ptr.0 as usize), self.len)
            }
        }

        impl<T> $view<T> {
            /// The memory where a launch on the host has it: a copy, or the device's own.
            pub fn within(self, copies: &Copies) -> Self {
                let address = copies.address(self.ptr.0, self.len * size_of::<T>());
                Self { ptr: DevicePtr(address), ..self }
            }

            /// The number of elements. It takes `self` by value, so that it comes before every trait's method
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

            /// The size, in bytes, of what [`argument`](Self::argument) points to.
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
        Self { ptr, len, uneven: None, elements: PhantomData }
    }
}

impl<T> ViewMut<T> {
    /// A view of memory that is read and written.
    pub(crate) fn new(ptr: DevicePtr, len: usize) -> Self {
        Self { ptr, len, uneven: None, anew: false, elements: PhantomData }
    }

    /// A view of memory that is an `out`.
    pub(crate) fn out(ptr: DevicePtr, len: usize) -> Self {
        Self { anew: true, ..Self::new(ptr, len) }
    }
}

impl<T> View<T> {
    /// The same memory as arrays of `N` elements.
    pub(crate) fn grouped<const N: usize>(self) -> View<[T; N]> {
        let (len, uneven) = groups::<N>(self.len);
        View { ptr: self.ptr, len, uneven, elements: PhantomData }
    }
}

impl<T> ViewMut<T> {
    /// The same memory as arrays of `N` elements.
    pub(crate) fn grouped<const N: usize>(self) -> ViewMut<[T; N]> {
        let (len, uneven) = groups::<N>(self.len);
        ViewMut { ptr: self.ptr, len, uneven, anew: self.anew, elements: PhantomData }
    }
}

impl<T> View<T> {
    /// The address of the number of elements, as `cuLaunchKernel` takes arguments.
    #[inline]
    pub fn length_argument(&self) -> *mut c_void {
        (&raw const self.len).cast_mut().cast()
    }

    /// The access that the kernel has through it.
    #[inline]
    pub fn access(&self) -> Access {
        Access { ptr: self.ptr, bytes: self.len * size_of::<T>(), write: false, anew: false }
    }

    /// The memory as a slice, if device memory is host memory.
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
    /// The elements are `Pod`. It is called on the simulated device only, while that executes the launch that
    /// this view was made for; or the view is [within](Self::within) copies, which stay as long as that
    /// launch runs on the host. The borrow ends with the launch.
    #[inline]
    pub unsafe fn slice(&self) -> &[T] {
        // SAFETY: the view lies in one live allocation of the simulated device (checked when the view was
        // made), aligned to 256 bytes and initialised; `Pod` accepts any bytes. No other launch runs at
        // the same time, and `Launch::enqueue` refused overlapping views of which one is mutable. A copy of a
        // view has the same bytes, is aligned as the memory was, and is this launch's alone.
        unsafe { std::slice::from_raw_parts(self.ptr.0 as *const T, self.len) }
    }
}

impl<T> ViewMut<T> {
    /// The address of the number of elements, as `cuLaunchKernel` takes arguments.
    #[inline]
    pub fn length_argument(&self) -> *mut c_void {
        (&raw const self.len).cast_mut().cast()
    }

    /// The access that the kernel has through it.
    #[inline]
    pub fn access(&self) -> Access {
        Access { ptr: self.ptr, bytes: self.len * size_of::<T>(), write: true, anew: self.anew }
    }

    /// The promise of the parameter `Out<[T]>` of that name: the kernel writes all of this memory.
    pub fn promise(&self, parameter: &'static str) -> Promise {
        Promise::new(parameter, self.access(), size_of::<T>())
    }

    /// The memory as a slice, if device memory is host memory.
    ///
    /// # Safety
    /// The promises of [`View::slice`] hold, and no other slice of the memory is in use.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "the memory is the device's, not the view's")]
    pub unsafe fn slice_mut(&self) -> &mut [T] {
        // SAFETY: as in `View::slice`.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.0 as *mut T, self.len) }
    }
}
