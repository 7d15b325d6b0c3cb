//! Copies between the memories of two devices.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;

use super::{DeviceBuf, DeviceCore, Direction, NO_OPERATION};
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Error, Result};
use crate::device::Device;
use crate::device::pending::{Held, caller};
use crate::driver::{Command, DevicePtr, Link};

/// Words that are copied for a trial, 256 KiB.
const TRIAL: u32 = 64 << 10;

/// The bytes that are copied at a time through memory of the host that is not page-locked.
const PIECE: usize = 64 << 20;

impl Device {
    /// Whether copies between this device's memory and the other's go directly, over NVLink or PCIe, rather than
    /// through the host's memory: `cudaDeviceCanAccessPeer`. It is so for a device and itself.
    ///
    /// The first call for two GPUs enables the access in both directions, copies some data each way and compares
    /// them: there are machines whose link is said to work and changes what it copies (for example with an IOMMU).
    /// Such a link is not used.
    ///
    /// ```
    /// use thalweg::Device;
    /// use thalweg::sim::MachineModel;
    ///
    /// let connected = Device::simulated_machine(MachineModel::h200(2));
    /// assert!(connected[0].can_access_peer(&connected[1])?);
    /// let apart = Device::simulated_machine(MachineModel::l40s());
    /// assert!(!apart[0].can_access_peer(&apart[1])?);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver fails ([`ErrorKind::Driver`]), there is no memory for the trial ([`ErrorKind::OutOfMemory`]), or the
    /// data have arrived changed even through the host's memory ([`ErrorKind::Environment`]).
    #[track_caller]
    pub fn can_access_peer(&self, other: &Self) -> Result<bool> {
        caller("Device::can_access_peer").located(|| {
            self.not_forked()?;
            Ok(self.same(other) || self.is_peer_of(other) && self.link(other)? == Link::Direct)
        })
    }

    /// The way that copies between the memories of two peers take. The first call finds it.
    pub(crate) fn link(&self, other: &Self) -> Result<Link> {
        /// Held while the way between two devices is found.
        static FINDING: Mutex<()> = Mutex::new(());
        if let Some(link) = self.known_link(other) {
            return self.usable(other, link);
        }
        self.driver().may_wait()?;
        let _finding = FINDING.lock().unwrap_or_else(PoisonError::into_inner);
        let link = self.known_link(other).map_or_else(|| self.find_link(other), Ok)?;
        self.note_link(other, link);
        other.note_link(self, link);
        self.usable(other, link)
    }

    fn usable(&self, other: &Self, link: Link) -> Result<Link> {
        if link == Link::Unusable {
            let [one, other] = [self, other].map(Self::label);
            return Err(Detail::PeerCopies { one, other }.into());
        }
        Ok(link)
    }

    // Note 73: a link is tried before it is used.
    /// Connects the two, and tries the way in both directions.
    fn find_link(&self, other: &Self) -> Result<Link> {
        let link = self.driver().connect(other.driver())?;
        // What a simulated machine does is known.
        let have_copied =
            || Ok::<_, Error>(!self.is_gpu() || self.has_copied(other)? && other.has_copied(self)?);
        if have_copied()? {
            return Ok(link);
        }
        self.driver().disconnect(other.driver())?;
        Ok(if link == Link::Direct && have_copied()? { Link::OverHost } else { Link::Unusable })
    }

    /// Whether some data arrive on a peer as they were.
    fn has_copied(&self, to: &Self) -> Result<bool> {
        // Multiples of an odd number, which all differ.
        let data: Vec<u32> = (1..=TRIAL).map(|index| index.wrapping_mul(0x9E37_79B9)).collect();
        let (source, target) =
            (DeviceBuf::from_slice(self, &data)?, DeviceBuf::<u32>::zeroed(to, data.len())?);
        let (from, to) = ((self, source.core().ptr()), (to, target.core().ptr()));
        // SAFETY: both buffers have that many bytes.
        unsafe { source.core().enqueue_and_wait(target.core(), peer_copy(to, from, source.core().bytes())) }?;
        Ok(target.to_vec()? == data)
    }
}

/// The command that copies from the memory of a device to that of another one, which is the same or a peer.
///
/// # Errors
/// Those of [`Device::can_access_peer`].
pub(crate) fn copied_between(
    to: (&Device, DevicePtr),
    from: (&Device, DevicePtr),
    bytes: usize,
) -> Result<Command<'static>> {
    if !to.0.same(from.0) {
        from.0.link(to.0)?;
    }
    Ok(peer_copy(to, from, bytes))
}

/// The same, where the way is known.
pub(crate) fn peer_copy(
    to: (&Device, DevicePtr),
    from: (&Device, DevicePtr),
    bytes: usize,
) -> Command<'static> {
    if to.0.same(from.0) {
        return Command::CopyOnDevice { to: to.1, from: from.1, bytes };
    }
    let [to, from] = [to, from].map(|(device, ptr)| (device.driver().peer(), ptr));
    Command::CopyBetween { to, from, bytes }
}

impl<T: Pod> DeviceBuf<T> {
    /// Copies all elements to another buffer of the same length, on this device or on any other, and waits.
    ///
    /// Between two GPUs, and between simulated devices of one machine, the data go
    /// [directly](Device::can_access_peer) where they can. Otherwise they go through the host's memory.
    /// [`Stream::copy`](crate::streams::Stream::copy) does not wait.
    ///
    /// ```
    /// use thalweg::sim::MachineModel;
    /// use thalweg::{Device, DeviceBuf};
    ///
    /// let machine = Device::simulated_machine(MachineModel::h200(2));
    /// let table = DeviceBuf::from_slice(&machine[0], &[1.0, 2.0, 3.0])?;
    /// let mut copy = DeviceBuf::<f64>::zeroed(&machine[1], 3)?;
    /// table.copy_to(&mut copy)?;
    /// assert_eq!(copy.to_vec()?, [1.0, 2.0, 3.0]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if `to` has another length; also those of [`to_vec`](Self::to_vec), of
    /// [`copy_from_slice`](Self::copy_from_slice), and of [`Device::can_access_peer`].
    #[track_caller]
    pub fn copy_to(&self, to: &mut DeviceBuf<T>) -> Result<()> {
        caller("DeviceBuf::copy_to").located(|| {
            if self.len() != to.len() {
                return Err(Detail::CopyLength { from: self.len(), to: to.len() }.into());
            }
            // SAFETY: both have that many bytes, and `to` is borrowed mutably.
            unsafe { self.core().copy_over(to.core(), self.core().bytes()) }
        })
    }
}

impl DeviceCore {
    /// Copies the first bytes to another allocation, and waits.
    ///
    /// # Safety
    /// Both have that many bytes, and nothing else accesses the other one.
    unsafe fn copy_over(self: &Arc<Self>, to: &Arc<Self>, bytes: usize) -> Result<()> {
        self.device().not_forked()?;
        // Graphs that are launched meanwhile are refused.
        let _held = [self, to].map(|core| Held::new(Arc::clone(core) as _));
        let (own, its) = (self.ptr().range(bytes), to.ptr().range(bytes));
        if !(self.device().same(to.device()) || self.device().is_peer_of(to.device())) {
            // SAFETY: the caller's promise.
            return unsafe { self.through_host(to, bytes) };
        }
        if self.is_poisoned() || to.is_poisoned() || !self.settled(false) || !to.settled(true) {
            return Err(Detail::Poisoned { host: "DeviceBuf" }.into());
        }
        self.failure(&own).map_or(Ok(()), Err)?;
        if bytes == 0 {
            return Ok(());
        }
        let command = copied_between((to.device(), to.ptr()), (self.device(), self.ptr()), bytes)?;
        // SAFETY: the caller's promise.
        unsafe { self.enqueue_and_wait(to, command) }?;
        to.is_written_anew(&its);
        Ok(())
    }

    /// Enqueues a copy to another allocation on a stream of its own, and waits. If it cannot be waited for, both
    /// allocations are left to the devices.
    ///
    /// # Safety
    /// The command stays within both.
    unsafe fn enqueue_and_wait(&self, to: &Self, command: Command<'_>) -> Result<()> {
        let done = self.transfer(|transfer| {
            let (driver, stream) = (transfer.device.driver(), transfer.stream);
            // SAFETY: the caller's promise; both allocations are kept if the stream cannot be waited for.
            let enqueued = unsafe { driver.enqueue(command, stream.raw, NO_OPERATION) };
            transfer.drained_if_failed(enqueued.and_then(|()| stream.synchronize()))
        });
        if self.is_poisoned() {
            to.poison();
        }
        done
    }

    /// Copies the first bytes to memory of a device of another kind, piece by piece.
    ///
    /// # Safety
    /// As [`copy_over`](Self::copy_over).
    unsafe fn through_host(self: &Arc<Self>, to: &Arc<Self>, bytes: usize) -> Result<()> {
        let mut piece = vec![0_u8; bytes.min(PIECE)];
        let pieces = (0..bytes).step_by(PIECE).map(|start| start..bytes.min(start + PIECE));
        for Range { start, end } in pieces {
            let (from, its) = (self.ptr().offset(start).0, to.ptr().offset(start).0);
            let data = (piece.as_mut_ptr(), end - start);
            // SAFETY: the caller's promise; the piece has as many bytes, and is nobody else's.
            unsafe {
                self.copy(from, end - start, data, Direction::Out)?;
                to.copy(its, end - start, data, Direction::In)?;
            }
        }
        Ok(())
    }
}
