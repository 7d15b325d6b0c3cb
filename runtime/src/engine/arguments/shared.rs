//! Data that the whole run shares: `resident` data, copied in before the first chunk, and carried data,
//! copied in before the first chunk and out after the last. Data already on the device are at most filled.

use std::ops::AddAssign;

use bytemuck::Pod;

use crate::driver::DevicePtr;
use crate::engine::arguments::{HostMemory, HostSource};

/// One `resident` or `carry` of a call.
pub(crate) struct Shared<'a> {
    /// Its index among the plan's buffers.
    pub(crate) buffer: usize,
    pub(crate) data: Data<'a>,
    /// Total size in bytes, or that of each ring slot's part.
    pub(crate) bytes: usize,
    /// The bytes of the element it starts from; without them it starts from `data`.
    pub(crate) init: Option<Vec<u8>>,
    /// What was moved, if it is on the device already.
    pub(crate) moved: Option<Moved>,
}

/// Bytes that were copied from or to the host.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moved {
    pub(crate) bytes: u64,
    /// How many of them the CPU has staged.
    pub(crate) staged: u64,
}

impl AddAssign for Moved {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.staged += other.staged;
    }
}

/// The argument.
pub(crate) enum Data<'a> {
    /// Copied to the ring, and back at the end if it is `carried`.
    Host { source: HostSource<'a>, carried: bool },
    /// Made in the ring, and copied at the end into partial results, one for the device or for each ring slot, which are
    /// combined with those of other devices.
    Partial(Vec<u8>),
    /// Used where it lies.
    Device(DevicePtr),
}

type Add = dyn Fn(*mut u8, &[u8]) + Send + Sync;

/// A result into which the carried data of a run's devices are combined.
pub(crate) struct Combined<'a> {
    data: HostSource<'a>,
    /// Combines the elements of partial results with those at the address, one result after another.
    add: Box<Add>,
}

impl<'a> Combined<'a> {
    /// `data` was borrowed mutably, as elements of `T`.
    pub(crate) fn new<T: Pod>(data: HostSource<'a>, combine: fn(T, T) -> T) -> Self {
        let len = data.len;
        let add = move |to: *mut u8, partial: &[u8]| {
            // SAFETY: `to` is the start of the argument, `len` elements of `T` that the run has borrowed mutably;
            // the run is over, so that no device uses them.
            let to = unsafe { std::slice::from_raw_parts_mut(to.cast::<T>(), len) };
            for partial in partial.chunks_exact((len * size_of::<T>()).max(1)) {
                for (to, partial) in to.iter_mut().zip(partial.chunks_exact(size_of::<T>().max(1))) {
                    *to = combine(*to, bytemuck::pod_read_unaligned(partial));
                }
            }
        };
        Self { data, add: Box::new(add) }
    }

    /// Adds a partial result. The run is over.
    pub(crate) fn add(&self, partial: &[u8]) {
        match &self.data.memory {
            HostMemory::Pageable(to) => (self.add)(*to, partial),
            HostMemory::Pinned(range) => (self.add)(range.ptr(), partial),
            // The check of shared arguments has refused this.
            HostMemory::Streamed => {}
        }
    }
}

impl<'a> Shared<'a> {
    /// The same data, for another device.
    pub(crate) fn again(&self) -> Self {
        let data = match &self.data {
            Data::Host { source, carried } => Data::Host { source: source.again(), carried: *carried },
            Data::Partial(partial) => Data::Partial(partial.clone()),
            Data::Device(ptr) => Data::Device(*ptr),
        };
        Self { buffer: self.buffer, data, bytes: self.bytes, init: self.init.clone(), moved: None }
    }

    /// The argument, if it is a `resident` that is copied from the host's memory.
    pub(crate) fn resident(&self) -> Option<&HostSource<'a>> {
        match &self.data {
            Data::Host { source, carried: false } if self.bytes > 0 => Some(source),
            _ => None,
        }
    }

    /// The argument, if it is in host memory.
    pub(crate) fn source(&self) -> Option<&HostSource<'a>> {
        match &self.data {
            Data::Host { source, .. } => Some(source),
            Data::Partial(_) | Data::Device(_) => None,
        }
    }

    /// The partial result that the run has left.
    pub(crate) fn take_partial(&mut self) -> Option<Vec<u8>> {
        match &mut self.data {
            Data::Partial(partial) => Some(std::mem::take(partial)),
            Data::Host { .. } | Data::Device(_) => None,
        }
    }
}
