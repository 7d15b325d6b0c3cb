//! What the whole run shares: `resident` data, copied in before the first chunk, and what is carried from chunk to chunk,
//! copied in before it and out after the last. What is on the device already is at most filled.

use bytemuck::Pod;

use super::call::{Buffer, Call};
use super::in_place::InPlace;
use super::predict::Model;
use super::ring::Ring;
use super::shape::{BufferPlace, BufferShape, Edge, Shape, Size};
use super::totals::Totals;
use crate::base::error::{Error, ErrorKind, IS_NEEDED_WHOLE, Result};
use crate::device::Device;
use crate::device::memory::{self, Direction, NO_OPERATION};
use crate::device::stream::Stream;
use crate::driver::{Command, DevicePtr, DriverResult};
use crate::engine::arguments::{DeviceInOut, DeviceInput, HostMemory, HostSource, InOut, Input};

/// One `resident` or `carry` of a call.
pub(super) struct Shared<'a> {
    /// Its index among the plan's buffers.
    pub(super) buffer: usize,
    pub(super) data: Data<'a>,
    /// In bytes, of all of it.
    pub(super) bytes: usize,
    /// The bytes of the element it starts from; else it starts from `data`.
    pub(super) init: Option<Vec<u8>>,
}

/// The argument.
pub(super) enum Data<'a> {
    /// Copied to the ring, and back at the end if it is `carried`.
    Host { source: HostSource<'a>, carried: bool },
    /// Used where it is.
    Device(DevicePtr),
}

impl<'a> Shared<'a> {
    /// The argument, if it is the host's.
    pub(super) fn source(&self) -> Option<&HostSource<'a>> {
        match &self.data {
            Data::Host { source, .. } => Some(source),
            Data::Device(_) => None,
        }
    }
}

impl Shared<'_> {
    /// What it takes to copy or fill it in the beginning, or to copy it back if it is carried.
    pub(super) fn work_out(&self, model: &mut Model, totals: &mut Totals, direction: Direction) {
        let is_in = direction == Direction::In;
        if is_in && self.init.is_some() {
            return model.fill(self.bytes as u64);
        }
        let Data::Host { source, carried } = &self.data else { return };
        if !is_in && !carried {
            return;
        }
        let (bytes, staged) = (self.bytes as u64, !matches!(source.memory, HostMemory::Pinned(_)));
        *(if is_in { &mut totals.to_device } else { &mut totals.to_host }) += bytes;
        totals.staged += if staged { bytes } else { 0 };
        model.share(bytes, is_in, staged);
    }
}

/// Bytes moved.
#[derive(Debug, Default)]
pub(super) struct Moved {
    pub(super) bytes: u64,
    pub(super) staged: u64,
}

/// Where the transfers take place: with nothing else under way.
pub(super) struct Transfer<'r> {
    pub(super) device: &'r Device,
    pub(super) stream: &'r Stream,
    pub(super) ring: &'r Ring,
}

impl Transfer<'_> {
    /// Gives every shared buffer what it starts from, and waits until it is there.
    pub(super) fn begin(&self, shared: &[Shared<'_>]) -> DriverResult<Moved> {
        let mut moved = Moved::default();
        for shared in shared {
            let Some(to) = self.place(shared) else { continue };
            match (&shared.init, &shared.data) {
                (Some(pattern), _) => {
                    let count = shared.bytes.checked_div(pattern.len()).unwrap_or(0);
                    // SAFETY: `to` has room for the bytes, is aligned to 256 bytes, and lives as long as the run; the
                    // stream is waited for below, and by the run's drain if that fails.
                    unsafe {
                        let fill = Command::Fill { to, pattern, count };
                        self.device.driver().enqueue(fill, self.stream.raw, NO_OPERATION)?;
                    }
                }
                (None, Data::Host { source, .. }) => {
                    self.move_all(to, source, shared.bytes, Direction::In, &mut moved)?;
                }
                (None, Data::Device(_)) => {}
            }
        }
        self.stream.synchronize()?;
        Ok(moved)
    }

    /// Gives back what is carried. The device has completed everything.
    pub(super) fn end(&self, shared: &[Shared<'_>]) -> DriverResult<Moved> {
        let mut moved = Moved::default();
        for shared in shared {
            let (Some(from), Data::Host { source, carried: true }) = (self.place(shared), &shared.data)
            else {
                continue;
            };
            self.move_all(from, source, shared.bytes, Direction::Out, &mut moved)?;
        }
        Ok(moved)
    }

    /// Where it is on the device, with room for all of it.
    fn place(&self, shared: &Shared<'_>) -> Option<DevicePtr> {
        match shared.data {
            Data::Device(ptr) => Some(ptr),
            Data::Host { .. } => {
                let (ptr, room) = self.ring.slot(shared.buffer, 0)?;
                (shared.bytes <= room).then_some(ptr)
            }
        }
    }

    fn move_all(
        &self,
        device: DevicePtr,
        host: &HostSource<'_>,
        bytes: usize,
        direction: Direction,
        moved: &mut Moved,
    ) -> DriverResult<()> {
        moved.bytes += bytes as u64;
        match &host.memory {
            HostMemory::Pinned(range) => {
                // SAFETY: `device` has room for `bytes` and lives as long as the run, which holds `range` too, and waits
                // for the stream or poisons both.
                unsafe { self.direct().enqueue(device, range.ptr(), bytes, direction)? };
                self.stream.synchronize()
            }
            // Which `shared` refuses.
            HostMemory::Streamed => Ok(()),
            HostMemory::Pageable(data) => {
                moved.staged += bytes as u64;
                // SAFETY: `device` has room for `bytes` and lives as long as the run; the argument has `bytes`, is borrowed
                // by the run, and mutably if it is written (a `carry` takes `&mut`).
                let done = unsafe { self.direct().staged(device, *data, bytes, direction) };
                done.map_err(|failed| *failed.error)
            }
        }
    }

    fn direct(&self) -> memory::Transfer<'_> {
        memory::Transfer { device: self.device, stream: self.stream }
    }
}

impl<'a> Call<'_, 'a> {
    /// The next device buffer, a `resident`: all of `data`, for the whole run.
    ///
    /// # Errors
    /// It is poisoned or of another device.
    pub fn resident<T: Pod>(&mut self, data: impl Input<'a, T>) -> Result<Buffer<T>> {
        let source = data.source();
        let len = source.len;
        self.shared(source, len, None, false)
    }

    /// Likewise where it is on the device.
    ///
    /// # Errors
    /// As [`resident`](Self::resident).
    pub fn resident_on_device<T: Pod>(&mut self, data: impl DeviceInput<'a, T>) -> Result<Buffer<T>> {
        let data = self.on_device(data.source())?;
        let len = data.len;
        self.shared_on_device(data, len, None)
    }

    /// The next device buffer, a `carry` of `len` elements: it starts from `init`, or else from `data`, which gets what
    /// is there at the end.
    ///
    /// # Errors
    /// `data` has another length, is poisoned or of another device.
    pub fn carry<T: Pod>(
        &mut self,
        len: usize,
        init: Option<T>,
        data: impl InOut<'a, T>,
    ) -> Result<Buffer<T>> {
        self.shared(data.source(), len, init, true)
    }

    /// Likewise where it is on the device.
    ///
    /// # Errors
    /// As [`carry`](Self::carry).
    pub fn carry_on_device<T: Pod>(
        &mut self,
        len: usize,
        init: Option<T>,
        data: impl DeviceInOut<'a, T>,
    ) -> Result<Buffer<T>> {
        let data = self.on_device(data.source())?;
        self.shared_on_device(if init.is_some() { data.unread() } else { data }, len, init)
    }

    fn shared<T: Pod>(
        &mut self,
        source: HostSource<'a>,
        declared: usize,
        init: Option<T>,
        carried: bool,
    ) -> Result<Buffer<T>> {
        let index = self.buffers.len();
        let name = self.pipeline.plan.buffers[index].name;
        let not_streamed = |_| ErrorKind::NotStreamed { host: name, reason: IS_NEEDED_WHOLE };
        let streamed = source.feed.as_ref().map(not_streamed);
        self.usable_on_host(name, &source, init.is_none())
            .and_then(|()| streamed.map_or(Ok(()), |kind| Err(kind.into())))
            .map_err(|error| error.at(self.pipeline.place_of_buffer(index)))?;
        let len = source.len;
        let buffer = self.shared_buffer(BufferPlace::Shared(len), len, declared)?;
        self.starts(index, Data::Host { source, carried }, len, init);
        Ok(buffer)
    }

    fn shared_on_device<T: Pod>(
        &mut self,
        data: InPlace,
        declared: usize,
        init: Option<T>,
    ) -> Result<Buffer<T>> {
        let index = self.buffers.len();
        self.check_in_place(&data)?;
        let (ptr, len) = (data.ptr(), data.len);
        let buffer = self.shared_buffer(BufferPlace::SharedInPlace(ptr, len), len, declared)?;
        if init.is_some() {
            self.starts(index, Data::Device(ptr), len, init);
        }
        self.in_place.push(data);
        Ok(buffer)
    }

    /// The next buffer, one for the run of `len` elements where `declared` are.
    fn shared_buffer<T: Pod>(
        &mut self,
        buffer: BufferPlace,
        len: usize,
        declared: usize,
    ) -> Result<Buffer<T>> {
        const { assert!(align_of::<T>() <= 256, "device memory is aligned to 256 bytes") };
        let index = self.buffers.len();
        let name = self.pipeline.plan.buffers[index].name;
        let refused = |kind| Error::new(kind).at(self.pipeline.place_of_buffer(index));
        if len != declared {
            return Err(refused(ErrorKind::CarryLength { carry: name, len, declared }));
        }
        let shape = Shape::new(name, Size::of::<T>(1), Edge::Clamp).map_err(refused)?;
        Ok(self.push(BufferShape { shape, place: buffer }))
    }

    /// What a buffer holds before the first chunk.
    fn starts<T: Pod>(&mut self, buffer: usize, data: Data<'a>, len: usize, init: Option<T>) {
        let init = init.map(|value| bytemuck::bytes_of(&value).to_vec());
        self.shared.push(Shared { buffer, data, bytes: len * size_of::<T>(), init });
    }
}
