//! [`DeviceBuf`]: device memory that the user owns.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytemuck::Pod;

use super::transfer::Failed;
use super::{DeviceMemory, Direction, NO_OPERATION, Transfer};
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Error, Result};
use crate::base::plan::Priority;
use crate::device::Device;
use crate::device::pending::{Memory, Uses, caller};
use crate::device::release::release;
use crate::device::stream::Stream;
use crate::driver::{Command, DevicePtr, DriverResult};

/// Device memory of a fixed length, for data that stay on the GPU from one pipeline to the next.
///
/// The CPU reaches it only by copies, which are complete when the call returns.
///
/// ```
/// use thalweg::sim::Simulation;
/// use thalweg::{Device, DeviceBuf};
///
/// let device = Device::simulated(Simulation::default());
/// let mut samples = DeviceBuf::from_slice(&device, &[1.0, 2.0, 3.0])?;
/// assert_eq!(samples.to_vec()?, [1.0, 2.0, 3.0]);
/// samples.copy_from_slice(&[4.0, 5.0, 6.0])?;
///
/// let mut back = [0.0; 3];
/// samples.copy_to_slice(&mut back)?;
/// assert_eq!(back, [4.0, 5.0, 6.0]);
/// # Ok::<(), thalweg::Error>(())
/// ```
///
/// If a run or a copy fails so badly that the device cannot be waited for, the buffers that it might still
/// access are *poisoned*: runs and copies refuse them with [`ErrorKind::DeviceLost`], and their memory is
/// never freed.
pub struct DeviceBuf<T> {
    core: Arc<DeviceCore>,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Pod> DeviceBuf<T> {
    /// A buffer of `len` elements, all zero.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] if device memory does not suffice, [`ErrorKind::Driver`] if the driver
    /// fails.
    #[track_caller]
    pub fn zeroed(device: &Device, len: usize) -> Result<Self> {
        caller("DeviceBuf::zeroed").located(|| {
            let buffer = Self::uninitialized(device, len)?;
            let bytes = buffer.core.bytes();
            buffer.core.transfer(|transfer| {
                // SAFETY: the memory has `bytes`, is aligned to 256 bytes, and is kept if the stream cannot
                // be waited for.
                let fill = unsafe {
                    let (driver, stream) = (device.driver(), transfer.stream.raw);
                    let fill = Command::Fill { to: buffer.core.ptr(), pattern: &[0], count: bytes };
                    driver.enqueue(fill, stream, NO_OPERATION)
                };
                transfer.drained_if_failed(fill.and_then(|()| transfer.stream.synchronize()))
            })?;
            Ok(buffer)
        })
    }

    /// A buffer with a copy of `data`.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`] if device memory, or page-locked memory to copy through, does not suffice.
    /// [`ErrorKind::Driver`] if the driver fails.
    #[track_caller]
    pub fn from_slice(device: &Device, data: &[T]) -> Result<Self> {
        caller("DeviceBuf::from_slice").located(|| {
            let mut buffer = Self::uninitialized(device, data.len())?;
            buffer.copy_in(data)?;
            Ok(buffer)
        })
    }

    /// Copies `data`, as long as the buffer, to the device. After an error the buffer may hold some of it.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if `data` has another length. [`ErrorKind::DeviceLost`] if the buffer is
    /// poisoned. [`ErrorKind::OutOfMemory`] if page-locked memory to copy through does not suffice.
    /// [`ErrorKind::Driver`] if the driver fails.
    #[track_caller]
    pub fn copy_from_slice(&mut self, data: &[T]) -> Result<()> {
        caller("DeviceBuf::copy_from_slice").located(|| self.copy_in(data))
    }

    fn copy_in(&mut self, data: &[T]) -> Result<()> {
        let from = (data.as_ptr().cast_mut(), data.len());
        // SAFETY: it is all of the memory, borrowed mutably. The slice has as many elements as it says, and
        // is only read.
        unsafe { self.core.copy(self.core.ptr().0, self.len, from, Direction::In) }
    }

    /// Copies all elements to `data`, as long as the buffer. After an error `data` may hold some of them.
    ///
    /// # Errors
    /// As [`copy_from_slice`](Self::copy_from_slice).
    #[track_caller]
    pub fn copy_to_slice(&self, data: &mut [T]) -> Result<()> {
        caller("DeviceBuf::copy_to_slice").located(|| self.copy_out(data))
    }

    fn copy_out(&self, data: &mut [T]) -> Result<()> {
        let to = (data.as_mut_ptr(), data.len());
        // SAFETY: it is all of the memory. The slice has as many elements as it says, and is borrowed
        // mutably.
        unsafe { self.core.copy(self.core.ptr().0, self.len, to, Direction::Out) }
    }

    /// A copy of all elements.
    ///
    /// # Errors
    /// [`ErrorKind::DeviceLost`] if the buffer is poisoned, or the error of a stream's operation that was to
    /// write it and failed. [`ErrorKind::OutOfMemory`] if page-locked memory to copy through does not
    /// suffice. [`ErrorKind::Driver`] if the driver fails.
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut data = vec![T::zeroed(); self.len];
        caller("DeviceBuf::to_vec").located(|| self.copy_out(&mut data))?;
        Ok(data)
    }

    /// Memory of another library on the same GPU. `keep` keeps the memory alive, for example an `Arc` of its
    /// buffer.
    ///
    /// This crate tracks only operations that go through it. The same memory may be lent more than once, in
    /// whole or in part: an operation on common bytes counts as an operation on each. To order the work that
    /// the other library enqueues on the memory, use its stream as
    /// [`Stream::from_raw`](crate::streams::Stream::from_raw), with
    /// [`note_write`](crate::streams::Stream::note_write) or
    /// [`note_read`](crate::streams::Stream::note_read).
    ///
    /// # Errors
    /// [`ErrorKind::Misuse`] if the device is no GPU. [`ErrorKind::Shape`] if the address is not aligned
    /// for the elements, or if there are more bytes than can be addressed.
    ///
    /// # Safety
    /// At `address` are `len` initialised elements of the device's memory, as long as `keep` is not dropped, which
    /// kernels of this device's context can access.
    /// Nobody else accesses them while an operation through this buffer does, unless both only read.
    #[track_caller]
    pub unsafe fn from_raw(
        device: &Device,
        address: u64,
        len: usize,
        keep: impl Any + Send + Sync,
    ) -> Result<Self> {
        caller("DeviceBuf::from_raw").located(|| {
            if !device.is_gpu() {
                return Err(Detail::NotAGpu.into());
            }
            let ptr = DevicePtr(address);
            // Fills write words of up to 4 bytes.
            let word = [4, 2, 1].into_iter().find(|word| size_of::<T>().is_multiple_of(*word)).unwrap_or(1);
            let bytes = len.checked_mul(size_of::<T>());
            let fits = bytes.filter(|&bytes| address.checked_add(bytes as u64).is_some());
            let is_aligned = ptr.is_aligned::<T>() && address.is_multiple_of(word as u64);
            let Some(bytes) = fits.filter(|_| is_aligned) else {
                return Err(Detail::Address { address, len, element: size_of::<T>() }.into());
            };
            let core = Arc::new(DeviceCore::of(
                DeviceMemory::lent(device, ptr, bytes.max(1), Box::new(keep)),
                bytes,
            ));
            // The memory is tracked at once, since operations on other memory that was lent may be pending on
            // the same bytes.
            core.tracked();
            Ok(Self { core, len, elements: PhantomData })
        })
    }

    /// The address of the first element in the device's memory, a `CUdeviceptr`, for other libraries. This
    /// crate does not know what they enqueue with it: see [`from_raw`](Self::from_raw).
    pub fn address(&self) -> u64 {
        // The caller may use the address to lend the memory again.
        self.core.tracked().0
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device that the memory belongs to.
    pub fn device(&self) -> &Device {
        self.core.device()
    }

    /// Whether a failed run or copy has left this buffer to the device.
    pub fn is_poisoned(&self) -> bool {
        self.core.is_poisoned()
    }

    pub(crate) fn core(&self) -> &Arc<DeviceCore> {
        &self.core
    }

    fn uninitialized(device: &Device, len: usize) -> Result<Self> {
        const { assert!(align_of::<T>() <= 256, "device memory is aligned to 256 bytes") };
        let exhausted = |requested: u64| -> Error {
            let free = device.driver().free_memory().unwrap_or(0);
            Detail::OutOfDeviceMemory { what: "a `DeviceBuf`".to_owned(), requested, free }.into()
        };
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| exhausted(u64::MAX))?;
        let core = DeviceCore::new(device, bytes)
            .map_err(|error| if error.is_out_of_memory() { exhausted(bytes as u64) } else { error.into() })?;
        Ok(Self { core: Arc::new(core), len, elements: PhantomData })
    }
}

impl<T> fmt::Debug for DeviceBuf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBuf")
            .field("len", &self.len)
            .field("device", &self.core.device())
            .field("poisoned", &self.core.is_poisoned())
            .finish_non_exhaustive()
    }
}

/// The allocation behind a [`DeviceBuf`]. A run holds a clone, so that it can outlive the buffer.
pub(crate) struct DeviceCore {
    memory: ManuallyDrop<DeviceMemory>,
    /// Bytes that are in use, at most those of the allocation, which has at least one.
    bytes: usize,
    /// The operations of streams that use it.
    uses: Uses,
    /// The number by which its device knows it, if the device knows its address.
    tracked: OnceLock<u64>,
}

impl DeviceCore {
    fn new(device: &Device, bytes: usize) -> DriverResult<Self> {
        Ok(Self::of(DeviceMemory::new(device, bytes)?, bytes))
    }

    fn of(memory: DeviceMemory, bytes: usize) -> Self {
        let (uses, tracked) = (Uses::default(), OnceLock::new());
        let memory = ManuallyDrop::new(memory);
        Self { memory, bytes, uses, tracked }
    }

    /// The memory's address. From now on its device knows the memory by it.
    pub(crate) fn tracked(self: &Arc<Self>) -> DevicePtr {
        self.tracked.get_or_init(|| {
            let memory = Arc::clone(self) as Arc<dyn Memory>;
            self.device().registry().add_memory(self.ptr(), self.memory.bytes, &memory)
        });
        self.ptr()
    }

    /// Waits for the operations of streams that write the memory, or for all that use it if `to_write` is
    /// true. `false` if that is not possible.
    pub(crate) fn settled(&self, to_write: bool) -> bool {
        let pending = if to_write { self.uses.is_used() } else { self.uses.is_written() };
        if !pending || self.uses.settle(!to_write) {
            return true;
        }
        // Inside a function of a stream nobody may wait. That is not the device's fault.
        if self.device().driver().may_wait().is_ok() {
            self.poison();
        }
        false
    }

    pub(crate) fn device(&self) -> &Device {
        self.memory.device()
    }

    pub(crate) fn ptr(&self) -> DevicePtr {
        self.memory.ptr
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The error because of which some of these bytes may not be what a stream's operation was to write.
    pub(crate) fn failure(&self, bytes: &Range<u64>) -> Option<Error> {
        self.uses.failure(bytes)
    }

    /// Notes that something other than a stream by hand has written these bytes.
    pub(crate) fn is_written_anew(&self, bytes: &Range<u64>) {
        self.device().registry().is_written_anew(&self.uses, bytes);
    }

    /// Leaves the memory to the device for good.
    pub(crate) fn poison(&self) {
        self.uses.poison();
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.uses.is_poisoned()
    }

    /// Does `work` on a stream of its own, unless there is nothing to move. If the device cannot be waited
    /// for afterwards, the memory is left to it.
    pub(super) fn transfer(&self, work: impl FnOnce(&Transfer<'_>) -> Result<(), Failed>) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        let device = self.device();
        device.driver().may_wait()?;
        let stream = Stream::new(device, Priority::Default)?;
        work(&Transfer { device, stream: &stream }).map_err(|Failed { error, drained, no_pinned }| {
            if !drained {
                self.poison();
            }
            match no_pinned {
                Some(bytes) => {
                    let what = "a copy of a `DeviceBuf`".to_owned();
                    Detail::OutOfPinnedMemory { what, requested: bytes as u64 }.into()
                }
                None => (*error).into(),
            }
        })
    }
}

impl fmt::Debug for DeviceCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.memory, f)
    }
}

impl Memory for DeviceCore {
    fn uses(&self) -> &Uses {
        &self.uses
    }

    fn is_on_host(&self) -> bool {
        false
    }
}

impl Drop for DeviceCore {
    fn drop(&mut self) {
        if let Some(number) = self.tracked.get() {
            self.device().registry().remove_memory(self.ptr(), *number);
        }
        if self.is_poisoned() {
            return;
        }
        // SAFETY: this is the only place that takes it, once.
        let memory = unsafe { ManuallyDrop::take(&mut self.memory) };
        let (uses, device) = (std::mem::take(&mut self.uses), memory.device().clone());
        release(&device, move |_| {
            // Every run and copy that used it has drained, or else it would be poisoned.
            match !uses.is_used() || uses.settle(false) {
                true => drop(memory),
                // The memory cannot be waited for and is left to the device.
                false => std::mem::forget(memory),
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::sim::Simulation;

    /// Devices whose memory is kept for good, so that a leak checker finds what belongs to them.
    static KEPT: Mutex<Vec<Device>> = Mutex::new(Vec::new());

    fn device() -> Device {
        Device::simulated(Simulation::default())
    }

    #[test]
    fn what_goes_in_comes_out() {
        let device = device();
        // The numbers take more than one piece, and no multiple of one.
        let numbers: Vec<u32> = (0..(9 << 20) / 4 + 3).collect();
        let mut buffer = DeviceBuf::from_slice(&device, &numbers).expect("memory");
        assert_eq!((buffer.len(), buffer.is_empty(), buffer.is_poisoned()), (numbers.len(), false, false));
        assert!(buffer.device().same(&device));
        assert!(buffer.to_vec().expect("a copy") == numbers);
        let others: Vec<u32> = numbers.iter().map(|number| !number).collect();
        buffer.copy_from_slice(&others).expect("a copy");
        let mut back = vec![0; others.len()];
        buffer.copy_to_slice(&mut back).expect("a copy");
        assert!(back == others);
    }

    #[test]
    fn zeroed_memory_is_zero() {
        assert_eq!(
            DeviceBuf::<u16>::zeroed(&device(), 1001).expect("memory").to_vec().expect("a copy"),
            [0; 1001]
        );
    }

    #[test]
    fn nothing_is_copied_of_nothing() {
        let device = device();
        let mut none = DeviceBuf::<f64>::zeroed(&device, 0).expect("memory");
        assert!(none.is_empty() && none.to_vec().expect("a copy").is_empty());
        none.copy_from_slice(&[]).expect("a copy");
        let units = DeviceBuf::from_slice(&device, &[[0_u8; 0]; 5]).expect("memory");
        assert_eq!((units.len(), units.to_vec().expect("a copy").len()), (5, 5));
        assert_eq!(device.driver().clock(), std::time::Duration::ZERO);
    }

    #[test]
    fn lengths_must_match() {
        let mut buffer = DeviceBuf::from_slice(&device(), &[1, 2, 3]).expect("memory");
        let errors =
            [buffer.copy_from_slice(&[4, 5]).unwrap_err(), buffer.copy_to_slice(&mut [0; 2]).unwrap_err()];
        for error in errors {
            assert!(matches!(error.detail(), Detail::DeviceBufLength { len: 3, slice: 2 }), "{error}");
            assert!(
                error.to_string().starts_with("the `DeviceBuf` has 3 elements, but the slice has 2\n"),
                "{error}"
            );
        }
        assert_eq!(buffer.to_vec().expect("a copy"), [1, 2, 3]);
    }

    #[test]
    fn too_much_memory_is_an_error() {
        let device = Device::simulated(Simulation::default().with_memory(4096).with_pinned_memory(64));
        let error = DeviceBuf::<f32>::zeroed(&device, 1025).unwrap_err();
        let Detail::OutOfDeviceMemory { requested: 4100, free: 4096, .. } = error.detail() else {
            panic!("{error}")
        };
        let error = DeviceBuf::<f32>::zeroed(&device, usize::MAX).unwrap_err();
        assert!(matches!(error.detail(), Detail::OutOfDeviceMemory { requested: u64::MAX, .. }), "{error}");
        let buffer = DeviceBuf::<f32>::zeroed(&device, 1024).expect("it fits");
        let error = buffer.to_vec().unwrap_err();
        assert!(matches!(error.detail(), Detail::OutOfPinnedMemory { requested: 4096, .. }), "{error}");
        drop(buffer);
        assert_eq!(device.free_memory().expect("a number"), 4096);
    }

    #[test]
    fn it_is_freed_unless_poisoned() {
        let device = device();
        let before = device.free_memory().expect("a number");
        drop(DeviceBuf::from_slice(&device, &[1_u8; 256]).expect("memory"));
        assert_eq!(device.free_memory().expect("a number"), before);
        let mut buffer = DeviceBuf::from_slice(&device, &[1_u8; 256]).expect("memory");
        buffer.core().poison();
        KEPT.lock().expect("no panic").push(device.clone());
        let refused = [buffer.copy_from_slice(&[2; 256]).unwrap_err(), buffer.to_vec().unwrap_err()];
        assert!(refused.iter().all(|error| matches!(error.detail(), Detail::Poisoned { host: "DeviceBuf" })));
        drop(buffer);
        assert_eq!(device.free_memory().expect("a number"), before - 256);
    }
}
