//! [`PinnedBuf`]: page-locked host memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytemuck::Pod;

use super::pinned_core::{Pages, PinnedCore};
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Error, Result};
use crate::device::Device;
use crate::device::pending::{Memory, caller};

/// Page-locked host memory of a fixed length, which a device copies from and to without the CPU.
///
/// It reads and writes like a slice. The pages are plain, cached ones. Allocation is slow (about 0.4 s a GiB
/// on a GPU), so keep the buffer and use it again.
///
/// ```
/// use thalweg::sim::Simulation;
/// use thalweg::{Device, PinnedBuf};
///
/// let device = Device::simulated(Simulation::default());
/// let mut samples = PinnedBuf::<f32>::zeroed(&device, 1024)?;
/// samples[3] = 1.5;
/// assert_eq!(samples.iter().sum::<f32>(), 1.5);
/// # Ok::<(), thalweg::Error>(())
/// ```
///
/// If a run fails so badly that the device cannot be waited for, the buffers that it might still access are
/// *poisoned*: they are empty from then on, runs refuse them with [`ErrorKind::DeviceLost`], and their memory
/// is never freed.
pub struct PinnedBuf<T> {
    core: Arc<PinnedCore>,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Pod> PinnedBuf<T> {
    /// A buffer of `len` elements, all zero.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] if the operating system or the driver does not lock so many pages,
    /// [`ErrorKind::Driver`] if the driver fails.
    #[track_caller]
    pub fn zeroed(device: &Device, len: usize) -> Result<Self> {
        caller("PinnedBuf::zeroed").located(|| Self::allocated(device, len, Pages::Plain))
    }

    fn allocated(device: &Device, len: usize, pages: Pages) -> Result<Self> {
        let exhausted = |requested: u64| -> Error {
            Detail::OutOfPinnedMemory { what: "a `PinnedBuf`".to_owned(), requested }.into()
        };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| exhausted(u64::MAX))?;
        assert_align::<T>();
        let core = PinnedCore::with_pages(device, bytes, pages)
            .map_err(|error| if error.is_out_of_memory() { exhausted(bytes as u64) } else { error.into() })?;
        // SAFETY: `core` is `bytes` long and nobody else knows it yet.
        unsafe { core.ptr.as_ptr().write_bytes(0, bytes) };
        Ok(Self { core: Arc::new(core), len, elements: PhantomData })
    }

    /// A buffer with a copy of `data`.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    #[track_caller]
    pub fn from_slice(device: &Device, data: &[T]) -> Result<Self> {
        let at = caller("PinnedBuf::from_slice");
        let mut buffer = at.located(|| Self::allocated(device, data.len(), Pages::Plain))?;
        buffer.copy_from_slice(data);
        Ok(buffer)
    }

    /// Like [`zeroed`](Self::zeroed), but of pages that the CPU writes past its caches
    /// (`cudaHostAllocWriteCombined`). Writing them from one end to the other is fast, and reading them is
    /// slow.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    #[track_caller]
    pub fn write_combined(device: &Device, len: usize) -> Result<Self> {
        caller("PinnedBuf::write_combined").located(|| Self::allocated(device, len, Pages::WriteCombined))
    }

    /// Locks the pages of a `Vec` in place: `cudaHostRegister`. The elements do not move, and
    /// [`into_vec`](Self::into_vec) gives the `Vec` back.
    ///
    /// ```
    /// use thalweg::sim::Simulation;
    /// use thalweg::{Device, PinnedBuf};
    ///
    /// let device = Device::simulated(Simulation::default());
    /// let mut samples = PinnedBuf::register(&device, vec![1.0, 2.0, 3.0])?;
    /// samples[0] = 4.0;
    /// assert_eq!(samples.into_vec()?, [4.0, 2.0, 3.0]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Driver`] if the operating system or the driver does not lock so many pages, or if pages
    /// of the `Vec` are locked already: small vectors may share a page.
    #[track_caller]
    pub fn register(device: &Device, data: Vec<T>) -> Result<Self> {
        assert_align::<T>();
        let len = data.len();
        let core = caller("PinnedBuf::register").located(|| PinnedCore::register(device, data))?;
        Ok(Self { core: Arc::new(core), len, elements: PhantomData })
    }

    /// The `Vec` that was [registered](Self::register), after all operations that use it. An error loses the
    /// buffer.
    ///
    /// # Errors
    /// [`ErrorKind::Misuse`] if it was not registered but allocated, or is part of a
    /// [`Graph`](crate::streams::Graph). The error of a stream's operation that was to write it and failed,
    /// as for [`wait`](Self::wait). [`ErrorKind::DeviceLost`] if it is poisoned.
    #[track_caller]
    pub fn into_vec(self) -> Result<Vec<T>> {
        caller("PinnedBuf::into_vec").located(|| {
            if self.core.is_elsewhere() {
                return Err(Detail::Forked.into());
            }
            let poisoned = || Detail::Poisoned { host: "PinnedBuf" };
            // A run that could not be waited for keeps its handle for good.
            if self.core.is_poisoned() {
                return Err(poisoned().into());
            }
            // Who else can have a handle? A run has borrowed the buffer, so it is over, and so has an operation of
            // a stream until it was enqueued. A graph has one from its capture until it is dropped, on any thread.
            // If that is dropped at this moment, on another thread, one of the two is the last: it either gives
            // the `Vec` back or, here, frees it with the error.
            let mut core =
                Arc::try_unwrap(self.core).map_err(|_| Detail::NotAVec { why: "is used by a graph" })?;
            if !core.settle(false) || core.is_poisoned() {
                return Err(poisoned().into());
            }
            core.uses().failure(&core.addresses()).map_or(Ok(()), Err)?;
            if core.was_empty() {
                return Ok(vec![T::zeroed(); self.len]);
            }
            core.unregister()
        })
    }

    /// The elements, after waiting for the operations of [streams](crate::streams) that write them. Reading
    /// the buffer without this call waits, too, but cannot report a failure.
    ///
    /// # Errors
    /// The error of such an operation that failed, or of one before it in its stream. It is returned until an
    /// operation writes these bytes anew or [`forget_failures`](Self::forget_failures) is called.
    /// [`ErrorKind::DeviceLost`] if the buffer is poisoned.
    #[track_caller]
    pub fn wait(&self) -> Result<&[T]> {
        caller("PinnedBuf::wait").located(|| {
            if self.core.is_elsewhere() {
                return Err(Detail::Forked.into());
            }
            if !self.core.is_readable() {
                return Err(Detail::Poisoned { host: "PinnedBuf" }.into());
            }
            self.core.uses().failure(&self.core.addresses()).map_or(Ok(&self[..]), Err)
        })
    }

    /// Declares all of the buffer valid although an operation that was to write it has failed, because the
    /// CPU has written other data there or the earlier data will do. Until then, [`wait`](Self::wait) and
    /// runs that read the buffer return the error.
    ///
    /// ```
    /// use thalweg::sim::{DriverCall, Effect, Fault, Simulation};
    /// use thalweg::streams::Stream;
    /// use thalweg::{Device, DeviceBuf, PinnedBuf};
    ///
    /// let device = Device::simulated(Simulation::h200());
    /// let x = DeviceBuf::from_slice(&device, &[1.0, 2.0])?;
    /// let mut y = PinnedBuf::zeroed(&device, 2)?;
    /// device.inject(Fault::nth(DriverCall::Copy, 0, Effect::Fails))?;
    /// Stream::new(&device)?.download(&x, &mut y)?;
    /// assert!(y.wait().is_err());
    /// y.copy_from_slice(&[3.0, 4.0]);
    /// y.forget_failures();
    /// assert_eq!(y.wait()?, [3.0, 4.0]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn forget_failures(&mut self) {
        // Operations that are still pending may fail, too.
        if self.core.is_writable() {
            self.core.uses().are_written_anew(&self.core.addresses());
        }
    }

    /// Whether a failed run has left this buffer to the device.
    pub fn is_poisoned(&self) -> bool {
        self.core.is_poisoned()
    }

    pub(crate) fn core(&self) -> &Arc<PinnedCore> {
        &self.core
    }

    /// The number of elements, even if it is poisoned.
    pub(crate) fn elements(&self) -> usize {
        self.len
    }
}

/// Page-locked memory is aligned to 64 bytes, which every `Pod` type in use satisfies.
const fn assert_align<T>() {
    const { assert!(align_of::<T>() <= 64, "pinned memory is aligned to 64 bytes") }
}

impl<T: Pod> Deref for PinnedBuf<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        let len = if self.core.is_readable() { self.len } else { 0 };
        // SAFETY: `core` holds `self.len` initialised elements (of `zeroed` or of a `Vec<T>`; `T: Pod`
        // accepts whatever a device has written since), aligned for them. A device writes them in a run that
        // borrows the buffer mutably and that has drained before the borrow ends, or else has poisoned it,
        // which makes `len` 0; or in operations of streams, which were given the buffer mutably, and which
        // have just been waited for, or else `len` is 0 too.
        unsafe { std::slice::from_raw_parts(self.core.ptr.as_ptr().cast(), len) }
    }
}

impl<T: Pod> DerefMut for PinnedBuf<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        let len = if self.core.is_writable() { self.len } else { 0 };
        // SAFETY: as in `deref`; `&mut self` is the only `PinnedBuf` of this core, and the clones of the core
        // that a run makes never access the memory from the CPU outside the run.
        unsafe { std::slice::from_raw_parts_mut(self.core.ptr.as_ptr().cast(), len) }
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for PinnedBuf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

// SAFETY: a `PinnedBuf` owns plain memory as a `Vec<T>` does, and drivers may be called from any thread.
unsafe impl<T: Send> Send for PinnedBuf<T> {}
// SAFETY: as above; `&PinnedBuf<T>` gives out `&[T]` only.
unsafe impl<T: Sync> Sync for PinnedBuf<T> {}
