//! [`PinnedBuf`]: page-locked host memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytemuck::Pod;

use super::pinned_core::{Pages, PinnedCore};
use crate::base::error::{Error, ErrorKind, Result};
use crate::device::Device;
use crate::device::pending::{Memory, caller};

/// Page-locked host memory of a fixed length, which a device copies from and to without the CPU.
///
/// It reads and writes like a slice. The pages are plain, cached ones. Allocating it is slow (about 0.4 s a GiB on a
/// GPU), so keep it and use it again.
///
/// ```
/// use thalweg::{Device, PinnedBuf, Spec};
///
/// let device = Device::simulated(Spec::default());
/// let mut samples = PinnedBuf::<f32>::zeroed(&device, 1024)?;
/// samples[3] = 1.5;
/// assert_eq!(samples.iter().sum::<f32>(), 1.5);
/// # Ok::<(), thalweg::Error>(())
/// ```
///
/// If a run fails so badly that the device cannot be waited for, the buffers that it might still access are *poisoned*:
/// they are empty from then on, runs refuse them with [`ErrorKind::Poisoned`], and their memory is never freed.
pub struct PinnedBuf<T> {
    core: Arc<PinnedCore>,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Pod> PinnedBuf<T> {
    /// `len` elements, all zero.
    ///
    /// # Errors
    /// The operating system or the driver will not lock so many pages ([`ErrorKind::OutOfPinnedMemory`]), or the driver fails
    /// ([`ErrorKind::Driver`]).
    #[track_caller]
    pub fn zeroed(device: &Device, len: usize) -> Result<Self> {
        caller("PinnedBuf::zeroed").located(|| Self::allocated(device, len, Pages::Plain))
    }

    fn allocated(device: &Device, len: usize, pages: Pages) -> Result<Self> {
        let exhausted = |requested: u64| -> Error {
            ErrorKind::OutOfPinnedMemory { what: "a `PinnedBuf`".to_owned(), requested }.into()
        };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| exhausted(u64::MAX))?;
        assert_align::<T>();
        let core = PinnedCore::with_pages(device, bytes, pages)
            .map_err(|error| if error.is_out_of_memory() { exhausted(bytes as u64) } else { error.into() })?;
        // SAFETY: `core` is `bytes` long and no one else knows it yet.
        unsafe { core.ptr.as_ptr().write_bytes(0, bytes) };
        Ok(Self { core: Arc::new(core), len, elements: PhantomData })
    }

    /// A copy of `data`.
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

    /// As [`zeroed`](Self::zeroed), of pages that the CPU writes past its caches: quick to write from one end to the other, slow
    /// to read. `cudaHostAllocWriteCombined`.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    #[track_caller]
    pub fn write_combined(device: &Device, len: usize) -> Result<Self> {
        caller("PinnedBuf::write_combined").located(|| Self::allocated(device, len, Pages::WriteCombined))
    }

    /// Locks the pages of a `Vec` where they are: `cudaHostRegister`. Its elements stay where they are, and
    /// [`into_vec`](Self::into_vec) gives it back.
    ///
    /// ```
    /// use thalweg::{Device, PinnedBuf, Spec};
    ///
    /// let device = Device::simulated(Spec::default());
    /// let mut samples = PinnedBuf::register(&device, vec![1.0, 2.0, 3.0])?;
    /// samples[0] = 4.0;
    /// assert_eq!(samples.into_vec()?, [4.0, 2.0, 3.0]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// The operating system or the driver will not lock so many pages, or pages of the `Vec` are locked already: small ones may
    /// share a page. [`ErrorKind::Driver`].
    #[track_caller]
    pub fn register(device: &Device, data: Vec<T>) -> Result<Self> {
        assert_align::<T>();
        let len = data.len();
        let core = caller("PinnedBuf::register").located(|| PinnedCore::register(device, data))?;
        Ok(Self { core: Arc::new(core), len, elements: PhantomData })
    }

    /// The `Vec` that was [registered](Self::register), once no operation uses it any more. The buffer is lost after an error.
    ///
    /// # Errors
    /// It was not registered but allocated, or is part of a [`Graph`](crate::streams::Graph)
    /// ([`ErrorKind::NotAVec`]); a stream's operation that was to write it has failed (with its error, as for
    /// [`wait`](Self::wait)); it is [`ErrorKind::Poisoned`].
    #[track_caller]
    pub fn into_vec(self) -> Result<Vec<T>> {
        caller("PinnedBuf::into_vec").located(|| {
            if self.core.is_elsewhere() {
                return Err(ErrorKind::Forked.into());
            }
            let poisoned = || ErrorKind::Poisoned { host: "PinnedBuf" };
            // A run that could not be waited for keeps its handle for good.
            if self.core.is_poisoned() {
                return Err(poisoned().into());
            }
            // Who else has a handle? A run has borrowed the buffer, so it is over. A graph has one from its capture until it is
            // dropped, wherever that is. A stream that looks up memory by its address has one for a moment, but only for an
            // operation on these very bytes, which nobody can have a right to while the buffer is moved. So it is a graph, or a
            // capture. If that goes at this moment, on another thread, one of the two is the last: it either gives the `Vec` back
            // or, here, frees it with the error.
            let mut core =
                Arc::try_unwrap(self.core).map_err(|_| ErrorKind::NotAVec { why: "is used by a graph" })?;
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

    /// Its elements, once the operations of [streams](crate::streams) that write it are over. To read it without this waits, too,
    /// but cannot say what has failed.
    ///
    /// # Errors
    /// Such an operation, or one before it in its stream, has failed. The error is that operation's, until an
    /// operation writes these bytes anew or [`forget_failures`](Self::forget_failures) is called. The buffer
    /// is [`ErrorKind::Poisoned`].
    #[track_caller]
    pub fn wait(&self) -> Result<&[T]> {
        caller("PinnedBuf::wait").located(|| {
            if self.core.is_elsewhere() {
                return Err(ErrorKind::Forked.into());
            }
            if !self.core.is_readable() {
                return Err(ErrorKind::Poisoned { host: "PinnedBuf" }.into());
            }
            self.core.uses().failure(&self.core.addresses()).map_or(Ok(&self[..]), Err)
        })
    }

    /// Declares all of it valid although an operation that was to write it has failed, because the CPU has
    /// written other data there or the earlier data will do. Until then, [`wait`](Self::wait) and runs that
    /// read it return the error.
    ///
    /// ```
    /// use thalweg::{Device, DeviceBuf, DriverCall, Effect, Fault, PinnedBuf, Spec, Stream};
    ///
    /// let device = Device::simulated(Spec::h200());
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

    /// Its elements, poisoned or not.
    pub(crate) fn elements(&self) -> usize {
        self.len
    }
}

/// Pinned memory is aligned to 64 bytes, which every `Pod` type in use satisfies.
const fn assert_align<T>() {
    const { assert!(align_of::<T>() <= 64, "pinned memory is aligned to 64 bytes") }
}

impl<T: Pod> Deref for PinnedBuf<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        let len = if self.core.is_readable() { self.len } else { 0 };
        // SAFETY: `core` holds `self.len` initialised elements (of `zeroed` or of a `Vec<T>`; `T: Pod` accepts whatever a device
        // has written since), aligned for them. A device writes it in a run that borrows the buffer mutably and that has
        // drained before the borrow ends, or else has poisoned it, which makes `len` 0; or in operations of streams, which
        // were given it mutably, and which have just been waited for, or else `len` is 0 too.
        unsafe { std::slice::from_raw_parts(self.core.ptr.as_ptr().cast(), len) }
    }
}

impl<T: Pod> DerefMut for PinnedBuf<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        let len = if self.core.is_writable() { self.len } else { 0 };
        // SAFETY: as in `deref`; `&mut self` is the only `PinnedBuf` of this core, and the clones of the core that a
        // run makes never access the memory from the CPU outside the run.
        unsafe { std::slice::from_raw_parts_mut(self.core.ptr.as_ptr().cast(), len) }
    }
}

impl<T: Pod + fmt::Debug> fmt::Debug for PinnedBuf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

// SAFETY: a `PinnedBuf` owns plain memory like a `Vec<T>` does, and drivers may be called from any thread.
unsafe impl<T: Send> Send for PinnedBuf<T> {}
// SAFETY: as above; `&PinnedBuf<T>` gives out `&[T]` only.
unsafe impl<T: Sync> Sync for PinnedBuf<T> {}
