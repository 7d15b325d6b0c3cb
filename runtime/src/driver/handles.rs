//! What a driver's things are known by: memory, streams, events, graphs, kernels.

use std::ops::Range;

/// An address in device memory. On the simulated device it is an address in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
#[cfg_attr(not(feature = "curand"), allow(unreachable_pub, reason = "a sealed trait of cuRAND's has it"))]
pub struct DevicePtr(pub(crate) u64);

impl DevicePtr {
    /// The address `bytes` further on.
    pub(crate) fn offset(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }

    /// The addresses of `bytes` bytes from here on.
    pub(crate) fn range(self, bytes: usize) -> Range<u64> {
        self.0..self.0.saturating_add(bytes as u64)
    }

    /// Whether a `T` may begin here.
    pub(crate) fn is_aligned<T>(self) -> bool {
        self.0.is_multiple_of(align_of::<T>() as u64)
    }

    /// The same address on the host, of page-locked memory under unified addressing.
    pub(crate) fn host(self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.0 as usize)
    }
}

/// A stream of one driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RawStream(pub u64);

/// An event of one driver, without timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RawEvent(pub u64);

/// A graph of one driver that can be launched.
#[derive(Debug, Default)]
pub(crate) struct RawGraph {
    /// The graph that was described.
    pub graph: u64,
    /// What was made of it, which is what is launched.
    pub executable: u64,
    /// For each node of the recording the driver's own handle of it, where it has any.
    pub nodes: Vec<u64>,
}

/// A loaded kernel and what the device says of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawFunction {
    /// The driver's own handle.
    pub handle: u64,
    /// Threads a block may have, given the kernel's registers and `__launch_bounds__`.
    pub max_threads_per_block: u32,
    /// Bytes of shared memory that the kernel declares itself.
    pub static_shared: u32,
    /// If its blocks come in clusters.
    pub cluster: Option<Cluster>,
    /// Whether all of its blocks must be on the device at once.
    pub cooperative: bool,
}

impl RawFunction {
    /// A kernel whose blocks know nothing of each other.
    pub(crate) fn plain(handle: u64, max_threads_per_block: u32, static_shared: u32) -> Self {
        Self { handle, max_threads_per_block, static_shared, cluster: None, cooperative: false }
    }
}

/// How a kernel's blocks come in clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cluster {
    /// As `[x, y, z]`.
    pub blocks: [u32; 3],
    /// Whether the source says so itself, with `__cluster_dims__`: then a launch must not.
    pub in_source: bool,
}

/// A kernel on the device.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub function: RawFunction,
    /// For a kernel with symbols, the module that it has to itself.
    pub own: Option<RawModule>,
}

/// A module that one function has to itself.
#[derive(Debug, Default)]
pub(crate) struct RawModule {
    /// The driver's own handle.
    pub handle: u64,
    /// In the order of the kernel's declaration; empty on a device that has no variables.
    pub symbols: Vec<RawSymbol>,
}

/// A variable of a module.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawSymbol {
    pub ptr: DevicePtr,
    pub bytes: usize,
}

/// A range of memory that a launch or a host function reads or writes.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Access {
    pub(crate) ptr: DevicePtr,
    pub(crate) bytes: usize,
    pub(crate) write: bool,
    /// All of it is written, whatever it was before: an `out`.
    pub(crate) anew: bool,
}

impl Access {
    /// Whether all of it is among the `bytes` from `start` on.
    pub(crate) fn is_within(&self, start: DevicePtr, bytes: usize) -> bool {
        let end = self.ptr.0.checked_sub(start.0).and_then(|before| before.checked_add(self.bytes as u64));
        end.is_some_and(|end| end <= bytes as u64)
    }
}
