//! [`Borrowed`]: the memory of a launch's argument, and the [`Lender`] that it is borrowed from.

use std::fmt;
use std::sync::Arc;

use crate::base::error::{Detail, Result};
use crate::device::Device;
use crate::device::memory::DeviceCore;
use crate::device::pending::uses::Used;
use crate::device::pending::{Memory, MemoryHandle, Uses};
use crate::driver::Access;

// Note 87: operations by hand borrow their memory.
/// A view of an argument's memory, which does not know how long the memory lives, and the allocation that it is a part of.
///
/// Nobody else can make one of the two, so that they belong together whoever implements the traits of arguments. It is not
/// `Copy`, since a launch that writes has the memory to itself:
///
/// ```compile_fail,E0423
/// use thalweg::__private::{Borrowed, Lender, View};
///
/// fn paired(view: View<f32>, lender: Lender<'_>) -> Borrowed<'_, View<f32>> {
///     Borrowed(view, lender)
/// }
/// ```
#[doc(hidden)]
#[derive(Debug)]
pub struct Borrowed<'p, V>(V, Lender<'p>);

impl<'p, V> Borrowed<'p, V> {
    #[inline]
    pub(crate) fn new(view: V, lender: Lender<'p>) -> Self {
        Self(view, lender)
    }

    /// Another view of the same memory.
    #[inline]
    pub(crate) fn map<U>(self, view: impl FnOnce(V) -> U) -> Borrowed<'p, U> {
        Borrowed(view(self.0), self.1)
    }

    /// The view, and the lender of its memory.
    #[inline]
    pub fn parts(self) -> (V, Lender<'p>) {
        (self.0, self.1)
    }
}

/// The allocation that an argument is a part of. It is borrowed until the launch is enqueued.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Lender<'p>(Option<Allocation<'p>>);

#[derive(Clone, Copy)]
struct Allocation<'p> {
    device: &'p Device,
    memory: &'p dyn MemoryHandle,
    uses: &'p Uses,
}

impl<'p> Lender<'p> {
    /// The lender of memory that a pipeline hands out: its run has the memory.
    const RUN: Self = Self(None);

    /// The lender of a part of a [`DeviceBuf`](crate::DeviceBuf), if it is one.
    #[inline]
    pub(crate) fn of(owner: Option<&'p Arc<DeviceCore>>) -> Self {
        owner.map_or(Self::RUN, |owner| Self::new(owner.device(), owner))
    }

    #[inline]
    pub(crate) fn new<M: Memory + 'static>(device: &'p Device, memory: &'p Arc<M>) -> Self {
        Self(Some(Allocation { device, memory, uses: memory.uses() }))
    }

    /// The memory that a launch on a stream of this device accesses.
    ///
    /// # Errors
    /// It is a run's or another device's, or was left to the device.
    #[inline]
    pub(crate) fn used(self, device: &Device, access: &Access) -> Result<Used<'p>> {
        let Some(Allocation { device: its, memory, uses }) = self.0 else {
            return Err(Detail::OfARun.into());
        };
        let Access { ptr, bytes, write, anew } = *access;
        let used = Used { memory, uses, bytes: ptr.range(bytes), write, anew };
        if !device.same(its) {
            device.check_stream(used.host(), its)?;
        }
        used.check().map(|()| used)
    }
}

impl fmt::Debug for Lender<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lender").finish_non_exhaustive()
    }
}
