//! [`PinnedBuf`]: page-locked host memory.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytemuck::Pod;

use super::device::release;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::fork;
use crate::device::Device;
use crate::device::pending::{Memory, Uses, caller};
use crate::driver::{DevicePtr, DriverResult};

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
            let mut core =
                Arc::try_unwrap(self.core).map_err(|_| ErrorKind::NotAVec { why: "is used by a graph" })?;
            if !core.settle(false) || core.is_poisoned() {
                return Err(ErrorKind::Poisoned { host: "PinnedBuf" }.into());
            }
            core.uses.failure(&core.addresses()).map_or(Ok(()), Err)?;
            if core.was_empty {
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
            self.core.uses.failure(&self.core.addresses()).map_or(Ok(&self[..]), Err)
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
            self.core.uses.are_written_anew(&self.core.addresses());
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

/// How the CPU sees page-locked memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pages {
    Plain,
    WriteCombined,
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

/// The allocation behind a [`PinnedBuf`] or a staging slot. A run holds a clone, so that it can outlive the buffer.
pub(crate) struct PinnedCore {
    device: Device,
    pub(crate) ptr: NonNull<u8>,
    bytes: usize,
    poisoned: AtomicBool,
    /// Operations of streams that use it.
    uses: Uses,
    /// What drops the `Vec` that it was.
    registered: Option<Registered>,
    /// Whether it was a `Vec` of no bytes.
    was_empty: bool,
    /// The number by which its device knows it, if it knows its address.
    tracked: OnceLock<u64>,
    /// Other devices that copy it.
    others: Mutex<Vec<Device>>,
}

/// Memory that is handed to another thread, to be freed there.
struct Address(NonNull<u8>);

// SAFETY: it is of plain memory, of which nothing else is left.
unsafe impl Send for Address {}

/// A `Vec` without its type.
struct Registered {
    capacity: usize,
    /// # Safety
    /// The pointer and the capacity are of such a `Vec`, of which nothing else is left.
    drop: unsafe fn(*mut u8, usize),
}

impl PinnedCore {
    pub(crate) fn new(device: &Device, bytes: usize) -> DriverResult<Self> {
        Self::with_pages(device, bytes, Pages::Plain)
    }

    fn with_pages(device: &Device, bytes: usize, pages: Pages) -> DriverResult<Self> {
        let (driver, bytes) = (device.driver(), bytes.max(1));
        let ptr = match pages {
            Pages::WriteCombined => driver.allocate_write_combined(bytes)?,
            Pages::Plain => driver.allocate_pinned(bytes)?,
        };
        Ok(Self::of(device, ptr, bytes, None))
    }

    fn of(device: &Device, ptr: NonNull<u8>, bytes: usize, registered: Option<Registered>) -> Self {
        Self {
            device: device.clone(),
            ptr,
            bytes,
            poisoned: AtomicBool::new(false),
            uses: Uses::default(),
            registered,
            was_empty: false,
            tracked: OnceLock::new(),
            others: Mutex::default(),
        }
    }

    fn register<T: Pod>(device: &Device, data: Vec<T>) -> Result<Self> {
        let bytes = size_of_val(&data[..]);
        if bytes == 0 {
            // There are no pages to lock.
            let mut core = Self::with_pages(device, 0, Pages::Plain)?;
            core.was_empty = true;
            return Ok(core);
        }
        let mut data = ManuallyDrop::new(data);
        // Of all that it has room for, not of its elements only.
        let ptr = data.as_mut_ptr().cast::<u8>();
        ptr.expose_provenance();
        let Some(ptr) = NonNull::new(ptr) else { return Err(ErrorKind::Skipped.into()) };
        // SAFETY: the memory is the `Vec`'s, which is kept until it is unregistered.
        if let Err(error) = unsafe { device.driver().register(ptr, bytes) } {
            drop(ManuallyDrop::into_inner(data));
            return Err(error.into());
        }
        let drop = |ptr: *mut u8, capacity| {
            // SAFETY: the pointer and the capacity are of a `Vec<T>`, says the caller; its elements need not be dropped.
            drop(unsafe { Vec::from_raw_parts(ptr.cast::<T>(), 0, capacity) });
        };
        let registered = Registered { capacity: data.capacity(), drop };
        Ok(Self::of(device, ptr, bytes, Some(registered)))
    }

    /// The `Vec` that it was.
    fn unregister<T: Pod>(&mut self) -> Result<Vec<T>> {
        let Some(Registered { capacity, .. }) = self.registered else {
            return Err(ErrorKind::NotAVec { why: "was not made by `register`" }.into());
        };
        self.forget_address();
        disown(self.ptr, self.bytes, self.others.get_mut().unwrap_or_else(PoisonError::into_inner))?;
        // SAFETY: it was registered, and no operation uses it: it was settled.
        unsafe { self.device.driver().unregister(self.ptr) }?;
        self.registered = None;
        self.poison();
        // SAFETY: they are a `Vec<T>`'s: `PinnedBuf<T>` was made of one, and nothing else drops it now.
        Ok(unsafe { Vec::from_raw_parts(self.ptr.as_ptr().cast(), self.bytes / size_of::<T>(), capacity) })
    }

    /// Whether it belongs to another process. A driver's page-locked memory need not exist in a child.
    #[inline]
    fn is_elsewhere(&self) -> bool {
        fork::is_child()
    }

    /// Whether the CPU may read it: nothing writes it any more.
    #[inline]
    fn is_readable(&self) -> bool {
        !self.is_elsewhere() && !self.is_poisoned() && (!self.uses.is_written() || self.settle(true))
    }

    /// Whether the CPU may write it: nothing uses it any more.
    #[inline]
    fn is_writable(&self) -> bool {
        !self.is_elsewhere() && !self.is_poisoned() && (!self.uses.is_used() || self.settle(false))
    }

    /// Waits for the operations of streams that write it, or for all that use it. `false` if that is not possible.
    #[cold]
    pub(crate) fn settle(&self, writes_only: bool) -> bool {
        if self.uses.settle(writes_only) {
            return true;
        }
        // A function of a stream's may not wait: it is none of the device's fault.
        if self.device.driver().may_wait().is_ok() {
            self.poison();
        }
        false
    }

    /// Its address, by which its device knows it from now on.
    pub(crate) fn tracked(self: &Arc<Self>) -> DevicePtr {
        let ptr = self.device_ptr();
        self.tracked.get_or_init(|| {
            let memory = Arc::clone(self) as Arc<dyn Memory>;
            self.device.registry().add_memory(ptr, self.bytes, &memory)
        });
        ptr
    }

    fn forget_address(&self) {
        if let Some(number) = self.tracked.get() {
            self.device.registry().remove_memory(self.device_ptr(), *number);
        }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Whether a device may copy it: its own, and every other one of the same kind. A GPU's page-locked
    /// memory is portable.
    ///
    /// # Errors
    /// The other device, a simulated one, is lost.
    pub(crate) fn is_copied_by(&self, device: &Device) -> Result<bool> {
        if self.device.same(device) {
            return Ok(true);
        }
        if self.device.is_simulated() != device.is_simulated() {
            return Ok(false);
        }
        // Nothing of the user's runs under the lock.
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if !others.iter().any(|other| other.same(device)) {
            // SAFETY: it is pinned memory of a device of the same kind, and the other one disowns it before
            // it is freed, or else it stays.
            unsafe { device.driver().adopt(self.ptr, self.bytes) }?;
            others.push(device.clone());
        }
        Ok(true)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// All of its bytes, by address.
    fn addresses(&self) -> Range<u64> {
        self.device_ptr().range(self.bytes)
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

impl Memory for PinnedCore {
    fn uses(&self) -> &Uses {
        &self.uses
    }

    fn is_on_host(&self) -> bool {
        true
    }

    fn is_poisoned(&self) -> bool {
        self.is_poisoned()
    }
}

impl Drop for PinnedCore {
    fn drop(&mut self) {
        self.forget_address();
        if self.is_poisoned() {
            return;
        }
        let (ptr, bytes, registered) = (Address(self.ptr), self.bytes, self.registered.take());
        let uses = std::mem::take(&mut self.uses);
        let mut others = std::mem::take(self.others.get_mut().unwrap_or_else(PoisonError::into_inner));
        release(&self.device, move |driver| {
            let Address(ptr) = { ptr };
            if uses.is_used() && !uses.settle(false) {
                return;
            }
            if disown(ptr, bytes, &mut others).is_err() {
                return;
            }
            match registered {
                None => {
                    // SAFETY: `ptr` came from `allocate_pinned(bytes)` and is freed here only. Every run that used it has
                    // drained, or else it would be poisoned, and every stream's operation is over. A driver that refuses leaks
                    // it, which is all that is left to do.
                    let _ = unsafe { driver.free_pinned(ptr, bytes) };
                }
                Some(Registered { capacity, drop }) => {
                    // SAFETY: likewise, and it was registered.
                    if unsafe { driver.unregister(ptr) }.is_ok() {
                        // SAFETY: they are the `Vec`'s that it was.
                        unsafe { drop(ptr.as_ptr(), capacity) };
                    }
                }
            }
        });
    }
}

/// Has other devices and their graphs forget memory that is about to be freed, since the next allocation may
/// have its address.
///
/// # Errors
/// One of them still uses the memory, which must stay.
fn disown(ptr: NonNull<u8>, bytes: usize, others: &mut Vec<Device>) -> DriverResult<()> {
    let addresses = DevicePtr(ptr.addr().get() as u64).range(bytes);
    while let Some(other) = others.last() {
        other.driver().disown(ptr)?;
        other.driver().note_gone(addresses.clone());
        others.pop();
    }
    Ok(())
}

// SAFETY: the pointer is plain memory owned by this value; who accesses it when is `PinnedBuf`'s and the run's business.
unsafe impl Send for PinnedCore {}
// SAFETY: as above; the methods that take `&self` do not access the memory.
unsafe impl Sync for PinnedCore {}
