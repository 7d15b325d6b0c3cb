//! The arguments of launches.

use std::ffi::c_void;

use bytemuck::NoUninit;

use super::lender::{Borrowed, Lender};
use crate::base::in_rust::KernelAtomic;
use crate::device::views::{AtomicView, DeviceSlice, DeviceSliceMut, DeviceSliceOut, OwnView, View, ViewMut};
use crate::driver::Access;

/// An argument for a kernel parameter `&[T]`.
///
/// As every argument, it becomes a view of its memory, borrowed from an allocation.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "kernel argument `{Self}` is not a device buffer of `{T}` to read",
    label = "expected `&` and a device buffer of `{T}`",
    note = "this parameter of the kernel is declared `&[{T}]`"
)]
pub trait ReadArg<T>: Sized {
    fn lend<'p>(self) -> Borrowed<'p, View<T>>
    where
        Self: 'p;
}

/// An argument for a kernel parameter `&mut [T]`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "kernel argument `{Self}` is not a device buffer of `{T}` to read and write",
    label = "expected `&mut` and a device buffer of `{T}`",
    note = "this parameter of the kernel is declared `&mut [{T}]`; for `out` it must be declared `Out<[{T}]>`"
)]
pub trait ReadWriteArg<T>: Sized {
    fn lend<'p>(self) -> Borrowed<'p, ViewMut<T>>
    where
        Self: 'p;
}

/// An argument for a kernel parameter `Out<[T]>`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "kernel argument `{Self}` is not a device buffer of `{T}` to write",
    label = "expected `out` and a device buffer of `{T}`",
    note = "this parameter of the kernel is declared `Out<[{T}]>`: the kernel writes all of it and reads nothing",
    note = "by hand it is `&mut buffer`, or `buffer.slice_mut(range)?.into_out()`"
)]
pub trait WriteArg<T>: Sized {
    fn lend<'p>(self) -> Borrowed<'p, ViewMut<T>>
    where
        Self: 'p;
}

/// An argument for a parameter `&mut Own<[T]>` of a kernel that counts in one dimension.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "kernel argument `{Self}` is not a device buffer of `{T}` to read and write",
    label = "expected `&mut` and a device buffer of `{T}`",
    note = "this parameter of the kernel is declared `&mut Own<[{T}]>`; for `out` it must be declared `&mut Out<[{T}]>`",
    note = "the kernel counts in one dimension, so that the launch says no shape"
)]
pub trait OwnArg<T>: Sized {
    fn lend<'p>(self) -> Borrowed<'p, OwnView<T, 1>>
    where
        Self: 'p;
}

/// An argument for a parameter `&mut Out<[T]>` of a kernel that counts in one dimension.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "kernel argument `{Self}` is not a device buffer of `{T}` to write",
    label = "expected `out` and a device buffer of `{T}`",
    note = "this parameter of the kernel is declared `&mut Out<[{T}]>`: the kernel writes all of it and reads nothing",
    note = "by hand it is `&mut buffer`, or `buffer.slice_mut(range)?.into_out()`",
    note = "the kernel counts in one dimension, so that the launch says no shape"
)]
pub trait OutArg<T>: Sized {
    fn lend<'p>(self) -> Borrowed<'p, OwnView<T, 1>>
    where
        Self: 'p;
}

/// An argument for a parameter `&[A]` of atomics, of a kernel in Rust: memory of plain numbers.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "kernel argument `{Self}` is not a device buffer of numbers that `{A}` changes",
    label = "expected `&mut` and a device buffer of plain numbers",
    note = "this parameter of the kernel is declared `&[{A}]`: a launch passes a buffer of numbers, such as `u32` for \
            `AtomicU32`, which the kernel reads and writes"
)]
pub trait AtomicArg<A: KernelAtomic>: Sized {
    fn lend<'p>(self) -> Borrowed<'p, AtomicView<A>>
    where
        Self: 'p;
}

/// An argument for a parameter `&mut Own<[T]>` of a kernel that counts in `D` dimensions.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "kernel argument `{Self}` is not a device buffer of `{T}` to read and write, with a shape of {D} axes",
    label = "expected `&mut`, a device buffer of `{T}` and its shape of {D} axes",
    note = "the kernel counts in {D} dimensions, so that the launch says the shape: `&mut buffer as [rows, columns]`, and by hand `Shaped::new(&mut buffer, [rows, columns])`"
)]
pub trait ShapedOwnArg<T, const D: usize>: Sized {
    fn lend<'p>(self) -> Borrowed<'p, OwnView<T, D>>
    where
        Self: 'p;
}

/// An argument for a parameter `&mut Out<[T]>` of a kernel that counts in `D` dimensions.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "kernel argument `{Self}` is not a device buffer of `{T}` to write, with a shape of {D} axes",
    label = "expected `out`, a device buffer of `{T}` and its shape of {D} axes",
    note = "the kernel counts in {D} dimensions, so that the launch says the shape: `out buffer as [rows, columns]`, and by hand `Shaped::new(&mut buffer, [rows, columns])`"
)]
pub trait ShapedOutArg<T, const D: usize>: Sized {
    fn lend<'p>(self) -> Borrowed<'p, OwnView<T, D>>
    where
        Self: 'p;
}

/// A buffer with its shape, the axis that varies fastest last: an argument of launches by hand, for kernels in
/// Rust that count in two or three dimensions. In a pipeline it is written `&mut buffer as [rows, columns]`.
#[derive(Debug)]
pub struct Shaped<A, const D: usize> {
    buffer: A,
    shape: [usize; D],
}

impl<A, const D: usize> Shaped<A, D> {
    /// `buffer`, of which each index of the shape is an element. The launch is refused if the shape has
    /// another number of elements.
    pub fn new(buffer: A, shape: [usize; D]) -> Self {
        Self { buffer, shape }
    }
}

#[diagnostic::do_not_recommend]
impl<T, A: ReadWriteArg<T>> OwnArg<T> for A {
    #[inline]
    fn lend<'p>(self) -> Borrowed<'p, OwnView<T, 1>>
    where
        Self: 'p,
    {
        ReadWriteArg::lend(self).map(|view| OwnView::new(view, [view.elements()]))
    }
}

#[diagnostic::do_not_recommend]
impl<T, A: WriteArg<T>> OutArg<T> for A {
    #[inline]
    fn lend<'p>(self) -> Borrowed<'p, OwnView<T, 1>>
    where
        Self: 'p,
    {
        WriteArg::lend(self).map(|view| OwnView::new(view, [view.elements()]))
    }
}

#[diagnostic::do_not_recommend]
impl<A: KernelAtomic, B: ReadWriteArg<A::Number>> AtomicArg<A> for B {
    #[inline]
    fn lend<'p>(self) -> Borrowed<'p, AtomicView<A>>
    where
        Self: 'p,
    {
        ReadWriteArg::lend(self).map(AtomicView::new)
    }
}

#[diagnostic::do_not_recommend]
impl<T, A: ReadWriteArg<T>, const D: usize> ShapedOwnArg<T, D> for Shaped<A, D> {
    #[inline]
    fn lend<'p>(self) -> Borrowed<'p, OwnView<T, D>>
    where
        Self: 'p,
    {
        ReadWriteArg::lend(self.buffer).map(|view| OwnView::new(view, self.shape))
    }
}

#[diagnostic::do_not_recommend]
impl<T, A: WriteArg<T>, const D: usize> ShapedOutArg<T, D> for Shaped<A, D> {
    #[inline]
    fn lend<'p>(self) -> Borrowed<'p, OwnView<T, D>>
    where
        Self: 'p,
    {
        WriteArg::lend(self.buffer).map(|view| OwnView::new(view, self.shape))
    }
}

impl<T> ReadArg<T> for DeviceSlice<'_, T> {
    #[inline]
    fn lend<'p>(self) -> Borrowed<'p, View<T>>
    where
        Self: 'p,
    {
        let lender = Lender::of(self.owner());
        Borrowed::new(self.into_view(), lender)
    }
}

impl<T> ReadWriteArg<T> for DeviceSliceMut<'_, T> {
    #[inline]
    fn lend<'p>(self) -> Borrowed<'p, ViewMut<T>>
    where
        Self: 'p,
    {
        let lender = Lender::of(self.owner());
        Borrowed::new(self.into_view(), lender)
    }
}

impl<T> WriteArg<T> for DeviceSliceOut<'_, T> {
    #[inline]
    fn lend<'p>(self) -> Borrowed<'p, ViewMut<T>>
    where
        Self: 'p,
    {
        let lender = Lender::of(self.owner());
        Borrowed::new(self.into_view(), lender)
    }
}

/// Implements the traits of arguments for memory of `T` where a kernel takes arrays of `T`, such as the three
/// values of a pixel. A launch is refused if elements are left over.
macro_rules! grouped {
    ([$($generics:tt)*] $read:ty, $read_write:ty, $write:ty) => {
        #[diagnostic::do_not_recommend]
        impl<$($generics)*, const N: usize> $crate::device::launch::ReadArg<[T; N]> for $read {
            #[inline]
            fn lend<'p>(self) -> $crate::device::launch::Borrowed<'p, $crate::device::views::View<[T; N]>>
            where
                Self: 'p,
            {
                $crate::device::launch::ReadArg::<T>::lend(self).map(|view| view.grouped())
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($generics)*, const N: usize> $crate::device::launch::ReadWriteArg<[T; N]> for $read_write {
            #[inline]
            fn lend<'p>(self) -> $crate::device::launch::Borrowed<'p, $crate::device::views::ViewMut<[T; N]>>
            where
                Self: 'p,
            {
                $crate::device::launch::ReadWriteArg::<T>::lend(self).map(|view| view.grouped())
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($generics)*, const N: usize> $crate::device::launch::WriteArg<[T; N]> for $write {
            #[inline]
            fn lend<'p>(self) -> $crate::device::launch::Borrowed<'p, $crate::device::views::ViewMut<[T; N]>>
            where
                Self: 'p,
            {
                $crate::device::launch::WriteArg::<T>::lend(self).map(|view| view.grouped())
            }
        }
    };
}
pub(crate) use grouped;

grouped!(['a, T] DeviceSlice<'a, T>, DeviceSliceMut<'a, T>, DeviceSliceOut<'a, T>);

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

/// Whether two ranges overlap and at least one of them is written. A kernel has few, so they need not be
/// sorted.
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
