//! [`PinnedCore`]: an allocation of page-locked memory.

use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;

use crate::base::error::{Detail, Result};
use crate::base::fork;
use crate::device::Device;
use crate::device::pending::{Memory, Uses};
use crate::device::release::release;
use crate::driver::{DevicePtr, DriverResult};

/// How the CPU sees page-locked memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pages {
    Plain,
    WriteCombined,
}

/// The allocation behind a [`PinnedBuf`](super::PinnedBuf) or a staging slot. A run holds a clone, so that it
/// can outlive the buffer.
pub(crate) struct PinnedCore {
    device: Device,
    pub(crate) ptr: NonNull<u8>,
    bytes: usize,
    /// The operations of streams that use it.
    uses: Uses,
    /// Drops the `Vec` that was registered.
    registered: Option<Registered>,
    /// Whether it was made of a `Vec` of no bytes.
    was_empty: bool,
    /// Other devices that copy from or to it.
    others: Mutex<Vec<Device>>,
}

/// The address of memory that another thread is to free.
struct Address(NonNull<u8>);

// SAFETY: the address is of plain memory, to which nothing else refers any more.
unsafe impl Send for Address {}

/// A `Vec` without its type.
struct Registered {
    capacity: usize,
    /// # Safety
    /// The pointer and the capacity are those of such a `Vec`, of which nothing else is left.
    drop: unsafe fn(*mut u8, usize),
}

impl PinnedCore {
    pub(crate) fn new(device: &Device, bytes: usize) -> DriverResult<Self> {
        Self::with_pages(device, bytes, Pages::Plain)
    }

    pub(super) fn with_pages(device: &Device, bytes: usize, pages: Pages) -> DriverResult<Self> {
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
            uses: Uses::default(),
            registered,
            was_empty: false,
            others: Mutex::default(),
        }
    }

    pub(super) fn register<T: Pod>(device: &Device, data: Vec<T>) -> Result<Self> {
        let bytes = size_of_val(&data[..]);
        if bytes == 0 {
            // There are no pages to lock.
            let mut core = Self::with_pages(device, 0, Pages::Plain)?;
            core.was_empty = true;
            return Ok(core);
        }
        let mut data = ManuallyDrop::new(data);
        // The slice covers the whole capacity, not only the elements.
        let ptr = data.as_mut_ptr().cast::<u8>();
        ptr.expose_provenance();
        let Some(ptr) = NonNull::new(ptr) else { return Err(Detail::Skipped.into()) };
        // SAFETY: the memory is the `Vec`'s, which is kept until it is unregistered.
        if let Err(error) = unsafe { device.driver().register(ptr, bytes) } {
            drop(ManuallyDrop::into_inner(data));
            return Err(error.into());
        }
        let drop = |ptr: *mut u8, capacity| {
            // SAFETY: the pointer and the capacity are those of a `Vec<T>` by the caller's promise; its
            // elements need not be dropped.
            drop(unsafe { Vec::from_raw_parts(ptr.cast::<T>(), 0, capacity) });
        };
        let registered = Registered { capacity: data.capacity(), drop };
        Ok(Self::of(device, ptr, bytes, Some(registered)))
    }

    /// The `Vec` that was registered.
    pub(super) fn unregister<T: Pod>(&mut self) -> Result<Vec<T>> {
        let Some(Registered { capacity, .. }) = self.registered else {
            return Err(Detail::NotAVec { why: "was not made by `register`" }.into());
        };
        disown(self.ptr, self.bytes, self.others.get_mut().unwrap_or_else(PoisonError::into_inner))?;
        // SAFETY: it was registered, and no operation uses it: it was settled.
        unsafe { self.device.driver().unregister(self.ptr) }?;
        self.registered = None;
        self.poison();
        // SAFETY: they are those of a `Vec<T>`: `PinnedBuf<T>` was made of one, and nothing else drops it
        // now.
        Ok(unsafe { Vec::from_raw_parts(self.ptr.as_ptr().cast(), self.bytes / size_of::<T>(), capacity) })
    }

    /// Whether it belongs to another process. A driver's page-locked memory need not exist in a child.
    #[inline]
    pub(super) fn is_elsewhere(&self) -> bool {
        fork::is_child()
    }

    /// Whether the CPU may read it, since nothing writes it any more.
    #[inline]
    pub(super) fn is_readable(&self) -> bool {
        !self.is_elsewhere() && !self.is_poisoned() && (!self.uses.is_written() || self.settle(true))
    }

    // Note 10: references wait for what is pending, since borrows end with the call.
    /// Whether the CPU may write it, since nothing uses it any more.
    #[inline]
    pub(super) fn is_writable(&self) -> bool {
        !self.is_elsewhere() && !self.is_poisoned() && (!self.uses.is_used() || self.settle(false))
    }

    /// Waits for the operations of streams that write it, or for all that use it. `false` if that is not
    /// possible.
    #[cold]
    pub(crate) fn settle(&self, writes_only: bool) -> bool {
        if self.uses.settle(writes_only) {
            return true;
        }
        // Inside a function of a stream nobody may wait. That is not the device's fault.
        if self.device.driver().may_wait().is_ok() {
            self.poison();
        }
        false
    }

    /// Whether it was made of a `Vec` of no bytes.
    pub(super) fn was_empty(&self) -> bool {
        self.was_empty
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Whether a device may copy from and to it: its own, and every other one of the same kind. A GPU's
    /// page-locked memory is portable.
    ///
    /// # Errors
    /// The other device is simulated and lost.
    pub(crate) fn is_copied_by(&self, device: &Device) -> Result<bool> {
        if self.device.same(device) {
            return Ok(true);
        }
        if !self.device.is_like(device) {
            return Ok(false);
        }
        // Nothing of the user's runs under the lock.
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if !others.iter().any(|other| other.same(device)) {
            // SAFETY: it is page-locked memory of a device of the same kind. The other device disowns it
            // before it is freed, or else it stays.
            unsafe { device.driver().adopt(self.ptr, self.bytes) }?;
            others.push(device.clone());
        }
        Ok(true)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The addresses of all of its bytes.
    pub(super) fn addresses(&self) -> Range<u64> {
        self.device_ptr().range(self.bytes)
    }

    /// The address of the memory on the device: under unified addressing, the same as on the host.
    pub(crate) fn device_ptr(&self) -> DevicePtr {
        DevicePtr(self.ptr.as_ptr().expose_provenance() as u64)
    }

    /// Redirects the device's copies of the first bytes, or ends that, if the driver can.
    ///
    /// # Safety
    /// As `Driver::redirect`.
    pub(crate) unsafe fn redirect(&self, to: Option<(*mut u8, usize)>) -> bool {
        // SAFETY: the caller's promise; the allocation is this driver's.
        unsafe { self.device.driver().redirect(self.ptr, to) }
    }

    /// Leaves the memory to the device for good.
    pub(crate) fn poison(&self) {
        self.uses.poison();
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.uses.is_poisoned()
    }
}

impl Memory for PinnedCore {
    fn uses(&self) -> &Uses {
        &self.uses
    }

    fn is_on_host(&self) -> bool {
        true
    }
}

impl Drop for PinnedCore {
    fn drop(&mut self) {
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
                    // SAFETY: `ptr` came from `allocate_pinned(bytes)` and is freed here only. Every run that
                    // used it has drained, or else it would be poisoned, and every stream's operation is
                    // over. If the driver refuses, the memory is leaked: nothing else can be done.
                    let _ = unsafe { driver.free_pinned(ptr, bytes) };
                }
                Some(Registered { capacity, drop }) => {
                    // SAFETY: as above, and it was registered.
                    if unsafe { driver.unregister(ptr) }.is_ok() {
                        // SAFETY: they are those of the `Vec` that was registered.
                        unsafe { drop(ptr.as_ptr(), capacity) };
                    }
                }
            }
        });
    }
}

/// Makes other devices and their graphs forget memory that is about to be freed, since the next allocation
/// may have its address.
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

// SAFETY: the pointer is plain memory owned by this value. `PinnedBuf` and the run decide who accesses it
// when.
unsafe impl Send for PinnedCore {}
// SAFETY: as above; the methods that take `&self` do not access the memory.
unsafe impl Sync for PinnedCore {}
