//! Typed kernel launches: what a pipeline passes and what `#[kernels]` makes of it.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::{NoUninit, Pod};

use crate::backends::sim::Promise;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::kernel::{Grid, Thread};
use crate::device::function::Function;
use crate::device::memory::DeviceCore;
use crate::device::pending::uses::Caller;
use crate::driver::{Bodies, DevicePtr, HostBodies, RawLaunch};

pub use crate::driver::{Access, HostBody};

/// A kernel type made by `#[kernels]`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kernel",
    label = "expected a kernel declared with `#[kernels(\"…\")]`"
)]
pub trait Kernel: Sized {
    const INFO: &'static crate::base::kernel::KernelInfo;

    /// # Safety
    /// `function` was loaded from `INFO`: the signature that the kernel's launches use is that one's.
    unsafe fn from_function(function: Function) -> Self;
}

/// A chunk of a device buffer that a launch or a routine reads: what `&name` becomes in a pipeline. By hand, the part of a buffer that
/// [`DeviceBuf::slice`](crate::DeviceBuf::slice) gives, which is an argument wherever the buffer is.
#[derive(Debug)]
pub struct DeviceSlice<'r, T> {
    view: View<T>,
    /// `None` for memory that a pipeline hands out, which belongs to the run.
    owner: Option<&'r Arc<DeviceCore>>,
}

/// A chunk of a device buffer that a launch or a routine reads and writes: what `&mut name` becomes in a pipeline. By hand, the part
/// of a buffer that [`DeviceBuf::slice_mut`](crate::DeviceBuf::slice_mut) gives, which is an argument
/// wherever the buffer is.
#[derive(Debug)]
pub struct DeviceSliceMut<'r, T> {
    view: ViewMut<T>,
    /// `None` for memory that a pipeline hands out, which belongs to the run.
    owner: Option<&'r Arc<DeviceCore>>,
}

/// A chunk of a device buffer that a launch or a routine writes without reading it: what `out name` becomes in a pipeline. A routine
/// writes all of it.
#[derive(Debug)]
pub struct DeviceSliceOut<'r, T> {
    view: ViewMut<T>,
    run: PhantomData<&'r ()>,
}

impl<'r, T> DeviceSlice<'r, T> {
    pub(crate) fn new(ptr: DevicePtr, len: usize) -> Self {
        Self { view: View::new(ptr, len), owner: None }
    }

    /// A slice of the owner's memory, if there is an owner.
    pub(crate) fn of(owner: Option<&'r Arc<DeviceCore>>, ptr: DevicePtr, len: usize) -> Self {
        Self { view: View::new(ptr, len), owner }
    }

    /// The allocation of a [`DeviceBuf`](crate::DeviceBuf) that it is a part of.
    pub(crate) fn owner(&self) -> Option<&'r Arc<DeviceCore>> {
        self.owner
    }

    pub(crate) fn into_view(self) -> View<T> {
        self.view
    }
}

impl<'r, T> DeviceSliceMut<'r, T> {
    pub(crate) fn new(ptr: DevicePtr, len: usize) -> Self {
        Self { view: ViewMut::new(ptr, len), owner: None }
    }

    /// A slice of the owner's memory, if there is an owner.
    pub(crate) fn of(owner: Option<&'r Arc<DeviceCore>>, ptr: DevicePtr, len: usize) -> Self {
        Self { view: ViewMut::new(ptr, len), owner }
    }

    /// The allocation of a [`DeviceBuf`](crate::DeviceBuf) that it is a part of.
    pub(crate) fn owner(&self) -> Option<&'r Arc<DeviceCore>> {
        self.owner
    }

    pub(crate) fn into_view(self) -> ViewMut<T> {
        self.view
    }
}

impl<'r, T> DeviceSliceOut<'r, T> {
    pub(crate) fn new(ptr: DevicePtr, len: usize) -> Self {
        Self { view: ViewMut::out(ptr, len), run: PhantomData }
    }

    /// A slice without an owner, since only routines get one. It has the signature of the other slices' `of`.
    pub(crate) fn of(_: Option<&'r Arc<DeviceCore>>, ptr: DevicePtr, len: usize) -> Self {
        Self::new(ptr, len)
    }

    pub(crate) fn owner(&self) -> Option<&'r Arc<DeviceCore>> {
        None
    }

    pub(crate) fn into_view(self) -> ViewMut<T> {
        self.view
    }
}

macro_rules! device_slice {
    ($($type:ident),*) => {$(
        impl<T> $type<'_, T> {
            /// In elements.
            pub fn len(&self) -> usize {
                self.view.len
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.view.len == 0
            }

            /// The address of the first element in device memory, a `CUdeviceptr`. What is enqueued with it must stay
            /// within the slice.
            pub fn address(&self) -> u64 {
                self.view.ptr.0
            }
        }
    )*};
}
device_slice!(DeviceSlice, DeviceSliceMut, DeviceSliceOut);

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
        self.view
    }
}

impl<T> ReadWriteArg<T> for DeviceSliceMut<'_, T> {
    #[inline]
    fn view(self) -> ViewMut<T> {
        self.view
    }
}

impl<T> WriteArg<T> for DeviceSliceOut<'_, T> {
    #[inline]
    fn view(self) -> ViewMut<T> {
        self.view
    }
}

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

/// What the names in a condition stood for.
#[doc(hidden)]
pub struct Values(Vec<(&'static str, String)>);

impl Values {
    /// Adds one.
    pub fn add(&mut self, name: &'static str, value: impl fmt::Display) -> &mut Self {
        self.0.push((name, value.to_string()));
        self
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

/// What a host body takes first: a [`Thread`] (called once a thread) or a [`Grid`] (called once a launch).
#[diagnostic::on_unimplemented(
    message = "a host body cannot take `{Self}` first",
    label = "expected `Thread` or `Grid`"
)]
pub trait Position: sealed::Sealed + Sized {
    #[doc(hidden)]
    fn for_each(grid: Grid, body: impl FnMut(Self));
}

impl Position for Thread {
    #[inline]
    fn for_each(Grid { grid_dim, block_dim, .. }: Grid, mut body: impl FnMut(Self)) {
        for z in 0..grid_dim[2] {
            for y in 0..grid_dim[1] {
                for x in 0..grid_dim[0] {
                    for thread_z in 0..block_dim[2] {
                        for thread_y in 0..block_dim[1] {
                            for thread_x in 0..block_dim[0] {
                                let index = [thread_x, thread_y, thread_z];
                                body(Self { index, block: [x, y, z], block_dim, grid_dim });
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Position for Grid {
    #[inline]
    fn for_each(grid: Grid, mut body: impl FnMut(Self)) {
        body(grid);
    }
}

/// Calls a host body for every position of the launch.
#[doc(hidden)]
#[inline]
pub fn for_each<P: Position>(grid: Grid, body: impl FnMut(P)) {
    P::for_each(grid, body);
}

/// Boxes what a launch does on the simulated device.
#[doc(hidden)]
pub fn host_body(body: impl FnOnce() + Send + 'static) -> HostBody {
    Box::new(body)
}

/// One launch: where it is enqueued, with its configuration.
#[derive(Debug)]
#[doc(hidden)]
pub struct Launch<'r> {
    target: &'r dyn LaunchTarget,
    /// The call, of a launch by hand.
    at: Caller,
    grid: Grid,
}

/// Where launches are enqueued: an operation of a pipeline, or a stream.
pub(crate) trait LaunchTarget: fmt::Debug {
    /// What the kernel requires may depend on more than its arguments.
    fn asks(&self) {}

    /// The error of a launch that is refused.
    fn refused(&self, at: Caller, kernel: &'static str, kind: ErrorKind) -> Error;

    /// Enqueues a kernel.
    ///
    /// # Safety
    /// As [`Launch::enqueue`].
    unsafe fn enqueue(
        &self,
        at: Caller,
        function: &Function,
        arguments: Arguments<'_>,
        bodies: &dyn Bodies,
        grid: Grid,
    ) -> Result<()>;
}

/// The arguments of a launch.
pub(crate) struct Arguments<'a> {
    /// A pointer to each, in order.
    pub(crate) params: &'a mut [*mut c_void],
    /// The bytes of each.
    pub(crate) sizes: &'a [usize],
    /// The memory that the kernel touches.
    pub(crate) accesses: &'a [Access],
    /// What the variables of the kernel's module hold.
    pub(crate) symbols: &'a [Access],
}

impl<'a> Arguments<'a> {
    /// What the driver is given.
    pub(crate) fn launch(self, function: &Function, grid: Grid, bodies: &'a dyn Bodies) -> RawLaunch<'a> {
        let Self { params, sizes, accesses, .. } = self;
        let Grid { grid_dim, block_dim, shared } = grid;
        RawLaunch {
            function: function.raw,
            grid: grid_dim,
            block: block_dim,
            shared,
            params,
            sizes,
            accesses,
            bodies: HostBodies::Many(bodies),
        }
    }
}

impl<'r> Launch<'r> {
    pub(crate) fn new(target: &'r dyn LaunchTarget, at: Caller, grid: Grid) -> Self {
        Self { target, at, grid }
    }

    /// What the kernel requires may depend on more than its arguments: it is to be asked in the next run, too.
    #[inline]
    pub fn asks(&self) {
        self.target.asks();
    }

    /// Notes that the kernel's requirements follow from its arguments, if all these words are `Some`.
    /// Otherwise it [`asks`](Self::asks).
    #[inline]
    pub fn follows<const N: usize>(&self, words: [Option<u64>; N]) {
        if words.contains(&None) {
            self.asks();
        }
    }

    /// Refuses the launch unless the kernel's requirement holds.
    ///
    /// # Errors
    /// [`ErrorKind::Requires`] if it does not.
    #[inline]
    pub fn requires(
        &self,
        holds: bool,
        kernel: &'static str,
        condition: &'static str,
        say: impl FnOnce(&mut Values),
    ) -> Result<()> {
        if holds {
            return Ok(());
        }
        let mut values = Values(Vec::new());
        say(&mut values);
        let kind = ErrorKind::Requires { kernel, condition, values: values.0 };
        Err(self.target.refused(self.at, kernel, kind))
    }

    /// Enqueues the kernel. `symbols` is what the module's variables hold, in the order of the
    /// kernel's declaration; they are among `accesses` too.
    ///
    /// # Safety
    /// `params` are the kernel's parameters, in order, of `sizes` initialised bytes, and the kernel stays within
    /// `accesses`.
    ///
    /// # Errors
    /// The configuration is outside the limits, two of `accesses` overlap and one writes, `symbols` are not what earlier
    /// launches of the run have given, or the driver refuses.
    pub unsafe fn enqueue(
        self,
        function: &Function,
        params: &mut [*mut c_void],
        sizes: &[usize],
        accesses: &[Access],
        symbols: &[Access],
        host: &(impl Fn(Grid) -> HostBody + Clone + Send + 'static),
    ) -> Result<()> {
        let Self { target, at, grid } = self;
        let arguments = Arguments { params, sizes, accesses, symbols };
        // SAFETY: the caller's promise.
        unsafe { target.enqueue(at, function, arguments, host, grid) }
    }
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

pub(crate) mod sealed {
    /// What launches take. Not others: a view of memory does not know for how long it is there.
    pub trait Argument {}
    impl<T> Argument for super::DeviceSlice<'_, T> {}
    impl<T> Argument for super::DeviceSliceMut<'_, T> {}
    impl<T> Argument for super::DeviceSliceOut<'_, T> {}

    pub trait Sealed {}
    impl Sealed for crate::base::kernel::Thread {}
    impl Sealed for crate::base::kernel::Grid {}
}
