//! Memory that becomes slices if it is the CPU's: arguments of host functions, and of routines on the
//! simulated device.

use bytemuck::Pod;

use crate::device::views::{DeviceSlice, DeviceSliceMut, DeviceSliceOut, View, ViewMut};
use crate::driver::Access;

/// A range of memory.
#[doc(hidden)]
pub trait Region: sealed::Sealed {
    type View: Slice;
    fn view(self) -> Self::View;
    fn access(&self) -> Access;
}

/// A range of memory without the borrow, which can be sent to the thread that uses it.
#[doc(hidden)]
pub trait Slice: Copy + Send + 'static {
    type Of<'a>;
    fn access(&self) -> Access;

    /// # Safety
    /// The memory is the CPU's and initialised. For `'a` nobody else uses it in a way that conflicts with the
    /// access.
    unsafe fn slice<'a>(self) -> Self::Of<'a>;
}

impl<T: Pod> Slice for View<T> {
    type Of<'a> = &'a [T];

    fn access(&self) -> Access {
        Self::access(self)
    }

    unsafe fn slice<'a>(self) -> &'a [T] {
        let (ptr, len) = self.parts();
        // SAFETY: the caller's promise. The run cut the range from memory that is aligned for `T`, and
        // `T: Pod` accepts any bytes.
        unsafe { std::slice::from_raw_parts(ptr.cast_const(), len) }
    }
}

impl<T: Pod> Slice for ViewMut<T> {
    type Of<'a> = &'a mut [T];

    fn access(&self) -> Access {
        Self::access(self)
    }

    unsafe fn slice<'a>(self) -> &'a mut [T] {
        let (ptr, len) = self.parts();
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(ptr, len) }
    }
}

macro_rules! regions {
    ($($type:ty => $view:ident),*) => {$(
        impl<T: Pod> sealed::Sealed for $type {}
        impl<T: Pod> Region for $type {
            type View = $view<T>;

            fn view(self) -> $view<T> {
                self.into_view()
            }

            fn access(&self) -> Access {
                self.as_view().access()
            }
        }
    )*};
}
regions!(DeviceSlice<'_, T> => View, DeviceSliceMut<'_, T> => ViewMut, DeviceSliceOut<'_, T> => ViewMut);

/// A tuple of up to twelve arguments that are memory.
/// [`Enqueue::simulate`](crate::routine::Enqueue::simulate) takes it, and hands it to its function as slices.
/// A [`DeviceSlice`] becomes `&[T]`. A [`DeviceSliceMut`] or a [`DeviceSliceOut`] becomes `&mut [T]`.
///
/// ```
/// use thalweg::prelude::*;
///
/// /// `z <- x + y`. On a GPU a library's function would be called here.
/// fn add(
///     queue: &Enqueue<'_>,
///     x: DeviceSlice<'_, f32>,
///     y: DeviceSlice<'_, f32>,
///     z: DeviceSliceOut<'_, f32>,
/// ) -> thalweg::Result<()> {
///     queue.simulate((x, y, z), |(x, y, z): (&[f32], &[f32], &mut [f32])| {
///         for ((z, x), y) in z.iter_mut().zip(x).zip(y) {
///             *z = x + y;
///         }
///     })
/// }
///
/// stream_pipeline! {
///     pipeline Add {
///         input x: [f32];
///         input y: [f32];
///         output z: [f32];
///         device dz: [f32];
///         chunk c = auto;
///         stage load { copy x -> dx; copy y -> dy; }
///         stage add { call add(&dx, &dy, out dz); }
///         stage store { copy dz -> z; }
///     }
/// }
///
/// let mut z = [0.0; 2];
/// Add::new(&Device::simulated(Simulation::h200()))?.run(&[1.0, 2.0], &[10.0, 20.0], &mut z)?;
/// assert_eq!(z, [11.0, 22.0]);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tuple of device slices",
    label = "expected the routine's arguments that are memory, `(x, y)`; one alone is `(x,)`"
)]
pub trait Views: sealed::Sealed {
    #[doc(hidden)]
    type Raw: Slices;
    #[doc(hidden)]
    fn raw(self) -> Self::Raw;
    #[doc(hidden)]
    fn accesses(&self) -> Vec<Access>;
}

/// A tuple of ranges that can be sent to another thread.
#[doc(hidden)]
pub trait Slices: Copy + Send + 'static {
    type Slices<'a>;
    fn accesses(&self) -> Vec<Access>;

    /// # Safety
    /// Those of [`Slice::slice`], for each of them.
    unsafe fn slices<'a>(self) -> Self::Slices<'a>;
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        #[allow(non_snake_case, reason = "a variable is called as its type")]
        impl<$($name: Region),*> sealed::Sealed for ($($name,)*) {}
        #[allow(non_snake_case, clippy::unused_unit, reason = "a variable is called as its type")]
        impl<$($name: Region),*> Views for ($($name,)*) {
            type Raw = ($($name::View,)*);

            fn raw(self) -> Self::Raw {
                let ($($name,)*) = self;
                ($($name.view(),)*)
            }

            fn accesses(&self) -> Vec<Access> {
                let ($($name,)*) = self;
                vec![$(Region::access($name)),*]
            }
        }

        #[allow(non_snake_case, clippy::unused_unit, reason = "a variable is called as its type")]
        impl<$($name: Slice),*> Slices for ($($name,)*) {
            type Slices<'a> = ($($name::Of<'a>,)*);

            fn accesses(&self) -> Vec<Access> {
                let ($($name,)*) = self;
                vec![$($name.access()),*]
            }

            unsafe fn slices<'a>(self) -> Self::Slices<'a> {
                let ($($name,)*) = self;
                // SAFETY: the caller's promise.
                $(let $name = unsafe { $name.slice() };)*
                ($($name,)*)
            }
        }
    )*};
}
tuples!(
    () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H)
    (A B C D E F G H I) (A B C D E F G H I J) (A B C D E F G H I J K) (A B C D E F G H I J K L)
);

mod sealed {
    pub trait Sealed {}
}
