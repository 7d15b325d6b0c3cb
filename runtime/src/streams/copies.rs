//! Copies and fills on a [`Stream`].

use bytemuck::Pod;

#[cfg(doc)]
use super::event::Event;
use super::memory::{FromDevice, FromHost, ToDevice, ToHost};
use super::rectangle::Rectangle;
use super::stream::Stream;
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Result};
#[cfg(doc)]
use crate::device::Device;
use crate::device::memory::copied_between;
use crate::device::pending::caller;
use crate::device::pending::uses::Used;
use crate::driver::{Command, RowsBetween};

impl Stream {
    /// Copies page-locked memory to the device: `cudaMemcpyAsync`. The page-locked memory may be another
    /// GPU's.
    ///
    /// # Errors
    /// The two sides differ in length ([`ErrorKind::Shape`]), belong to another device
    /// ([`ErrorKind::Misuse`]), or are in use by a run ([`ErrorKind::Misuse`]); the device is lost
    /// ([`ErrorKind::DeviceLost`]); nothing orders the copy with an earlier operation on the same memory
    /// ([`ErrorKind::Race`]); the driver refuses ([`ErrorKind::Driver`]).
    #[track_caller]
    pub fn upload<T: Pod>(&self, from: impl FromHost<T>, to: impl ToDevice<T>) -> Result<()> {
        let at = caller("upload");
        at.located(|| {
            let (from, to) = (from.part(), to.part());
            same_len(from.len, to.len)?;
            let used = [from.used(self.device(), false)?, to.used::<T>(self.device(), true)?];
            let upload =
                Command::CopyToDevice { to: to.ptr, from: from.ptr().cast_const(), bytes: to.bytes::<T>() };
            // SAFETY: both ranges were checked, and have the same number of bytes.
            unsafe { self.enqueue(at, &used, upload) }
        })
    }

    /// Copies device memory to page-locked memory: `cudaMemcpyAsync`. Reading that memory waits for the copy.
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload).
    #[track_caller]
    pub fn download<T: Pod>(&self, from: impl FromDevice<T>, to: impl ToHost<T>) -> Result<()> {
        let at = caller("download");
        at.located(|| {
            let (from, to) = (from.part(), to.part());
            same_len(from.len, to.len)?;
            let used = [from.used::<T>(self.device(), false)?, to.used(self.device(), true)?];
            let download = Command::CopyToHost { to: to.ptr(), from: from.ptr, bytes: from.bytes::<T>() };
            // SAFETY: as above.
            unsafe { self.enqueue(at, &used, download) }
        })
    }

    /// Copies device memory to device memory: `cudaMemcpyAsync`.
    ///
    /// One of the two may be memory of a peer: of another GPU, or of another simulated device of the same machine
    /// (`cudaMemcpyPeerAsync`). The data go [directly](Device::can_access_peer) where they can, otherwise through the
    /// host's memory; the first such copy finds out. An [`Event`] of one device orders streams of both.
    ///
    /// ```
    /// use thalweg::sim::MachineModel;
    /// use thalweg::streams::Stream;
    /// use thalweg::{Device, DeviceBuf};
    ///
    /// let machine = Device::simulated_machine(MachineModel::h200(2));
    /// let (here, there) = (Stream::new(&machine[0])?, Stream::new(&machine[1])?);
    /// let mut x = DeviceBuf::<f32>::zeroed(&machine[0], 1000)?;
    /// let mut y = DeviceBuf::<f32>::zeroed(&machine[1], 1000)?;
    /// here.fill(&mut x, 1.0)?;
    /// here.copy(&x, &mut y)?;
    /// there.wait_stream(&here)?; // or else this is a race, which is an error
    /// there.fill(y.slice_mut(500..)?, 2.0)?;
    /// assert_eq!(y.to_vec()?[499..501], [1.0, 2.0]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload), and of [`Device::can_access_peer`].
    #[track_caller]
    pub fn copy<T: Pod>(&self, from: impl FromDevice<T>, to: impl ToDevice<T>) -> Result<()> {
        let at = caller("copy");
        at.located(|| {
            let (from, to, device) = (from.part(), to.part(), self.device());
            same_len(from.len, to.len)?;
            let used = [from.reached::<T>(device, false)?, to.reached::<T>(device, true)?];
            let [source, target] = [from.device()?, to.device()?];
            if !source.same(device) {
                device.check_stream("DeviceBuf", target)?;
            }
            let copy = copied_between((target, to.ptr), (source, from.ptr), to.bytes::<T>())?;
            // The stream knows other memory with the same bytes on its own device only.
            let peer = if source.same(device) { target } else { source };
            let of_peer = (!peer.same(device)).then(|| peer.registry().overlaps(&used)).flatten();
            let all = Used::and(&used, of_peer.as_deref());
            // SAFETY: as above. One is borrowed mutably, so they do not overlap.
            unsafe { self.enqueue(at, all.as_deref().unwrap_or(&used), copy) }
        })
    }

    /// Sets every element to `value`: `cudaMemsetAsync`, for elements of any size.
    ///
    /// # Errors
    /// Those of [`upload`](Self::upload).
    #[track_caller]
    pub fn fill<T: Pod>(&self, to: impl ToDevice<T>, value: T) -> Result<()> {
        let at = caller("fill");
        at.located(|| {
            let to = to.part();
            let used = [to.used::<T>(self.device(), true)?];
            let pattern = bytemuck::bytes_of(&value);
            let count = if pattern.is_empty() { 0 } else { to.len };
            // SAFETY: the range was checked; it begins a whole number of elements after an allocation's
            // start, which is aligned to 256 bytes.
            unsafe { self.enqueue(at, &used, Command::Fill { to: to.ptr, pattern, count }) }
        })
    }

    /// Copies a rectangle of page-locked memory to the device: `cudaMemcpy2DAsync`.
    ///
    /// ```
    /// use thalweg::sim::Simulation;
    /// use thalweg::streams::{Rectangle, Stream};
    /// use thalweg::{Device, DeviceBuf, PinnedBuf};
    ///
    /// let device = Device::simulated(Simulation::default());
    /// let image: Vec<u8> = (0..12).collect(); // 3 rows of 4
    /// let image = PinnedBuf::from_slice(&device, &image)?;
    /// let mut tile = DeviceBuf::<u8>::zeroed(&device, 4)?;
    /// let two_by_two = Rectangle { width: 2, height: 2, from_pitch: 4, to_pitch: 2 };
    /// Stream::new(&device)?.upload_2d(image.slice(1..)?, &mut tile, two_by_two)?;
    /// assert_eq!(tile.to_vec()?, [1, 2, 5, 6]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// A pitch is less than the width, or a side has fewer elements than the rectangle needs
    /// ([`ErrorKind::Shape`]); also those of [`upload`](Self::upload).
    #[track_caller]
    pub fn upload_2d<T: Pod>(
        &self,
        from: impl FromHost<T>,
        to: impl ToDevice<T>,
        rectangle: Rectangle,
    ) -> Result<()> {
        let at = caller("upload_2d");
        at.located(|| {
            let (from, to) = (from.part(), to.part());
            let [from_rows, to_rows] = rectangle.rows::<T>(from.len, to.len)?;
            let (from_used, to_used) = (from.used(self.device(), false)?, to.used::<T>(self.device(), true)?);
            let between = RowsBetween::HostAndDevice { to: to.ptr, from: from.ptr() };
            let used = from_rows.of(&from_used).chain(to_rows.of(&to_used)).collect::<Vec<_>>();
            // SAFETY: both ranges were checked, and have the rectangle's rows.
            unsafe { self.enqueue(at, &used, Command::CopyRows(rectangle.raw::<T>(between))) }
        })
    }

    /// Copies a rectangle of device memory to page-locked memory: `cudaMemcpy2DAsync`.
    ///
    /// # Errors
    /// Those of [`upload_2d`](Self::upload_2d).
    #[track_caller]
    pub fn download_2d<T: Pod>(
        &self,
        from: impl FromDevice<T>,
        to: impl ToHost<T>,
        rectangle: Rectangle,
    ) -> Result<()> {
        let at = caller("download_2d");
        at.located(|| {
            let (from, to) = (from.part(), to.part());
            let [from_rows, to_rows] = rectangle.rows::<T>(from.len, to.len)?;
            let (from_used, to_used) = (from.used::<T>(self.device(), false)?, to.used(self.device(), true)?);
            let between = RowsBetween::DeviceAndHost { to: to.ptr(), from: from.ptr };
            let used = from_rows.of(&from_used).chain(to_rows.of(&to_used)).collect::<Vec<_>>();
            // SAFETY: as above.
            unsafe { self.enqueue(at, &used, Command::CopyRows(rectangle.raw::<T>(between))) }
        })
    }

    /// Copies a rectangle of device memory to device memory: `cudaMemcpy2DAsync`.
    ///
    /// # Errors
    /// Those of [`upload_2d`](Self::upload_2d).
    #[track_caller]
    pub fn copy_2d<T: Pod>(
        &self,
        from: impl FromDevice<T>,
        to: impl ToDevice<T>,
        rectangle: Rectangle,
    ) -> Result<()> {
        let at = caller("copy_2d");
        at.located(|| {
            let (from, to) = (from.part(), to.part());
            let [from_rows, to_rows] = rectangle.rows::<T>(from.len, to.len)?;
            let (from_used, to_used) =
                (from.used::<T>(self.device(), false)?, to.used::<T>(self.device(), true)?);
            let between = RowsBetween::OnDevice { to: to.ptr, from: from.ptr };
            let used = from_rows.of(&from_used).chain(to_rows.of(&to_used)).collect::<Vec<_>>();
            // SAFETY: as above. One is borrowed mutably, so they do not overlap.
            unsafe { self.enqueue(at, &used, Command::CopyRows(rectangle.raw::<T>(between))) }
        })
    }
}

fn same_len(from: usize, to: usize) -> Result<()> {
    if from == to { Ok(()) } else { Err(Detail::CopyLength { from, to }.into()) }
}
