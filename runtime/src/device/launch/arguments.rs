//! What launches take as arguments.

use std::ffi::c_void;

use bytemuck::NoUninit;

use crate::device::views::{DeviceSlice, DeviceSliceMut, DeviceSliceOut, View, ViewMut};
use crate::driver::Access;

/// An argument for a kernel parameter `&[T]`.
///
/// A view outlives the memory that it shows, and so nobody else makes arguments of them:
///
/// ```compile_fail,E0277
/// use thalweg::__private::{ReadArg, View};
///
/// struct Stolen(View<f32>);
/// impl ReadArg<f32> for Stolen {
///     fn view(self) -> View<f32> {
///         self.0
///     }
/// }
/// ```
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "kernel argument `{Self}` is not a device buffer of `{T}` to read",
    label = "expected `&` and a device buffer of `{T}`",
    note = "this parameter of the kernel is declared `&[{T}]`"
)]
pub trait ReadArg<T>: sealed::Argument {
    fn view(self) -> View<T>;
}

/// An argument for a kernel parameter `&mut [T]`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "kernel argument `{Self}` is not a device buffer of `{T}` to read and write",
    label = "expected `&mut` and a device buffer of `{T}`",
    note = "this parameter of the kernel is declared `&mut [{T}]`; for `out` it must be declared `Out<[{T}]>`"
)]
pub trait ReadWriteArg<T>: sealed::Argument {
    fn view(self) -> ViewMut<T>;
}

/// An argument for a kernel parameter `Out<[T]>`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "kernel argument `{Self}` is not a device buffer of `{T}` to write",
    label = "expected `out` and a device buffer of `{T}`",
    note = "this parameter of the kernel is declared `Out<[{T}]>`: the kernel writes all of it and reads nothing"
)]
pub trait WriteArg<T>: sealed::Argument {
    fn view(self) -> ViewMut<T>;
}

impl<T> ReadArg<T> for DeviceSlice<'_, T> {
    #[inline]
    fn view(self) -> View<T> {
        self.into_view()
    }
}

impl<T> ReadWriteArg<T> for DeviceSliceMut<'_, T> {
    #[inline]
    fn view(self) -> ViewMut<T> {
        self.into_view()
    }
}

impl<T> WriteArg<T> for DeviceSliceOut<'_, T> {
    #[inline]
    fn view(self) -> ViewMut<T> {
        self.into_view()
    }
}

/// A scalar kernel parameter, passed by value: a number, a `bool`, or a `#[repr(C)]` struct of them.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel by value",
    label = "expected a number, or a `#[repr(C)]` struct that is `Pod`"
)]
pub trait KernelScalar: NoUninit + Send + 'static {}
#[diagnostic::do_not_recommend]
impl<T: NoUninit + Send + 'static> KernelScalar for T {}

/// The address of a scalar, as `cuLaunchKernel` takes arguments.
#[doc(hidden)]
#[inline]
pub fn argument<T: KernelScalar>(value: &T) -> *mut c_void {
    (&raw const *value).cast_mut().cast()
}

/// Whether two ranges overlap of which one is written. A kernel takes a handful: no need to sort.
pub(crate) fn aliases(accesses: &[Access]) -> bool {
    let overlap = |a: &Access, b: &Access| {
        a.bytes > 0 && b.bytes > 0 && a.ptr < b.ptr.offset(b.bytes) && b.ptr < a.ptr.offset(a.bytes)
    };
    let mut left = accesses;
    while let [a, others @ ..] = left {
        if others.iter().any(|b| (a.write || b.write) && overlap(a, b)) {
            return true;
        }
        left = others;
    }
    false
}

/// Who may be an argument: not others, since a view of memory does not know for how long it is there.
pub(crate) mod sealed {
    use super::{DeviceSlice, DeviceSliceMut, DeviceSliceOut};

    pub trait Argument {}
    impl<T> Argument for DeviceSlice<'_, T> {}
    impl<T> Argument for DeviceSliceMut<'_, T> {}
    impl<T> Argument for DeviceSliceOut<'_, T> {}
}
