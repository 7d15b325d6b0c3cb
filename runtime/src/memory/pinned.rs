//! [`PinnedBuf`]: page-locked host memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;

use crate::device::Device;
use crate::driver::{DevicePtr, DriverResult};
use crate::error::{Error, ErrorKind, Result};

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
    /// The operating system or the driver will not lock so many pages.
    pub fn zeroed(device: &Device, len: usize) -> Result<Self> {
        let exhausted = |requested: u64| -> Error {
            ErrorKind::OutOfPinnedMemory { what: "a `PinnedBuf`".to_owned(), requested }.into()
        };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| exhausted(u64::MAX))?;
        assert_align::<T>();
        let core = PinnedCore::new(device, bytes)
            .map_err(|error| if error.is_out_of_memory() { exhausted(bytes as u64) } else { error.into() })?;
        // SAFETY: `core` is `bytes` long and no one else knows it yet.
        unsafe { core.ptr.as_ptr().write_bytes(0, bytes) };
        Ok(Self { core: Arc::new(core), len, elements: PhantomData })
    }

    /// A copy of `data`.
    ///
    /// # Errors
    /// As [`zeroed`](Self::zeroed).
    pub fn from_slice(device: &Device, data: &[T]) -> Result<Self> {
        let mut buffer = Self::zeroed(device, data.len())?;
        buffer.copy_from_slice(data);
        Ok(buffer)
    }

    /// Whether a failed run has left this buffer to the device.
    pub fn is_poisoned(&self) -> bool {
        self.core.is_poisoned()
    }

    pub(crate) fn core(&self) -> &Arc<PinnedCore> {
        &self.core
    }

    /// Its elements, poisoned or not.
    pub(super) fn elements(&self) -> usize {
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
        let len = if self.core.is_poisoned() { 0 } else { self.len };
        // SAFETY: `core` holds `self.len` initialised elements (written by `zeroed`; `T: Pod` accepts whatever a device
        // has written since), aligned to 64 bytes. A device writes it only in a run that borrows the buffer mutably and
        // that has drained before the borrow ends, or else has poisoned it, which makes `len` 0.
        unsafe { std::slice::from_raw_parts(self.core.ptr.as_ptr().cast(), len) }
    }
}

impl<T: Pod> DerefMut for PinnedBuf<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        let len = if self.core.is_poisoned() { 0 } else { self.len };
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

/// The allocation behind a [`PinnedBuf`] or a staging slot. A run holds a clone, so that it can outlive the buffer.
pub(crate) struct PinnedCore {
    device: Device,
    pub(crate) ptr: NonNull<u8>,
    bytes: usize,
    poisoned: AtomicBool,
}

impl PinnedCore {
    pub(crate) fn new(device: &Device, bytes: usize) -> DriverResult<Self> {
        let bytes = bytes.max(1);
        let ptr = device.driver().allocate_pinned(bytes)?;
        Ok(Self { device: device.clone(), ptr, bytes, poisoned: AtomicBool::new(false) })
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where the device sees it: under unified addressing, where the host does.
    pub(crate) fn device_ptr(&self) -> DevicePtr {
        DevicePtr(self.ptr.as_ptr().expose_provenance() as u64)
    }

    /// Has the device's copies of the first bytes go elsewhere, or no longer, if it can.
    ///
    /// # Safety
    /// As `Driver::redirect`.
    pub(crate) unsafe fn redirect(&self, to: Option<(*mut u8, usize)>) -> bool {
        // SAFETY: the caller's promise; the allocation is this driver's.
        unsafe { self.device.driver().redirect(self.ptr, to) }
    }

    /// Gives the memory up to the device for good.
    pub(crate) fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }
}

impl Drop for PinnedCore {
    fn drop(&mut self) {
        if self.is_poisoned() {
            return;
        }
        // SAFETY: `ptr` came from `allocate_pinned(bytes)` and is freed here only. Every run that used it has drained,
        // or else it would be poisoned. A driver that refuses leaks it, which is all that is left to do.
        let _ = unsafe { self.device.driver().free_pinned(self.ptr, self.bytes) };
    }
}

// SAFETY: the pointer is plain memory owned by this value; who accesses it when is `PinnedBuf`'s and the run's business.
unsafe impl Send for PinnedCore {}
// SAFETY: as above; the methods that take `&self` do not access the memory.
unsafe impl Sync for PinnedCore {}
