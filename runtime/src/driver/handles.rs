//! The handles of a driver's memory, streams, events, graphs and kernels.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// An address in device memory. On a device on the host it is an address in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DevicePtr(pub(crate) u64);

impl DevicePtr {
    /// The address `bytes` after this one.
    pub(crate) fn offset(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }

    /// The addresses of `bytes` bytes from this one on.
    pub(crate) fn range(self, bytes: usize) -> Range<u64> {
        self.0..self.0.saturating_add(bytes as u64)
    }

    /// Whether a `T` may begin here.
    pub(crate) fn is_aligned<T>(self) -> bool {
        self.0.is_multiple_of(align_of::<T>() as u64)
    }

    /// The same address on the host, for page-locked memory under unified addressing.
    pub(crate) fn host(self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.0 as usize)
    }
}

/// A device as others of its kind know it: a GPU's context, or a number in a simulated machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Peer(pub u64);

/// The way that copies between the memories of two devices take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Link {
    /// From one to the other.
    Direct,
    /// Through the host's memory.
    OverHost,
    /// None: what is copied does not arrive as it was.
    Unusable,
}

/// A stream of one driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RawStream(pub u64);

/// An event of one driver, without timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RawEvent(pub u64);

/// A count of one driver, which streams count up and the host looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RawCount(pub u64);

/// A graph of one driver that can be launched.
#[derive(Debug, Default)]
pub(crate) struct RawGraph {
    /// The graph as it was described.
    pub graph: u64,
    /// The executable that was made of it and is launched.
    pub executable: u64,
    /// For each node of the recording, the driver's own, if the driver has some.
    pub nodes: Vec<RawNode>,
    /// Whether it is a run's, for a driver whose graphs then take other times.
    pub of_run: bool,
}

/// A node of a graph of one driver.
#[derive(Debug)]
pub(crate) struct RawNode {
    /// The driver's own handle.
    pub handle: u64,
    /// The kernel that carries out what is recorded as a copy, if one does.
    pub copier: Option<RawFunction>,
}

/// A loaded kernel and its properties on the device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawFunction {
    /// The driver's own handle.
    pub handle: u64,
    /// The number of threads that a block may have, given the kernel's registers and `__launch_bounds__`.
    pub max_threads_per_block: u32,
    /// Bytes of shared memory that the kernel itself declares.
    pub static_shared: u32,
    /// The clusters of its blocks, if it has any.
    pub cluster: Option<Cluster>,
    /// Whether all of its blocks must be on the device at once.
    pub cooperative: bool,
}

impl RawFunction {
    /// A kernel whose blocks are independent.
    pub(crate) fn plain(handle: u64, max_threads_per_block: u32, static_shared: u32) -> Self {
        Self { handle, max_threads_per_block, static_shared, cluster: None, cooperative: false }
    }
}

/// The clusters of a kernel's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cluster {
    /// The blocks of a cluster, as `[x, y, z]`.
    pub blocks: [u32; 3],
    /// Whether the source itself fixes them, with `__cluster_dims__`. A launch must not ask for them then.
    pub in_source: bool,
}

/// A kernel on the device.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub function: RawFunction,
    /// The module that a kernel with symbols has to itself.
    pub own: Option<RawModule>,
}

/// A module that one function has to itself.
#[derive(Debug, Default)]
pub(crate) struct RawModule {
    /// The driver's own handle.
    pub handle: u64,
    /// The variables, in the order of the kernel's declaration; empty on a device without variables.
    pub symbols: Vec<RawSymbol>,
    /// The word in which threads of a kernel in Rust leave their place when they fail; `None` on a device
    /// whose launches report it themselves.
    pub fault: Option<FaultWord>,
}

/// A word of page-locked memory that lives as long as its device, and two numbers behind it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FaultWord {
    /// The address on the host. Its provenance is exposed.
    host: usize,
    device: u64,
}

impl FaultWord {
    /// The word at these addresses: three aligned `u32` that live as long as the device.
    pub(crate) fn new(host: usize, device: u64) -> Self {
        Self { host, device }
    }

    pub(crate) fn host(&self) -> usize {
        self.host
    }

    pub(crate) fn device(&self) -> u64 {
        self.device
    }

    /// The place of a thread that has failed, and 0 from then on; and the numbers that it has left, if any.
    pub(crate) fn take(&self) -> (u32, [u32; 2]) {
        let host = std::ptr::with_exposed_provenance_mut::<u32>(self.host);
        // SAFETY: the words are aligned and live as long as the device, which whoever has loaded a kernel
        // holds. The host accesses them only atomically, and the device writes each as a whole.
        let [place, first, second] = [0, 1, 2].map(|word| unsafe { AtomicU32::from_ptr(host.add(word)) });
        let place = place.swap(0, Ordering::AcqRel);
        (place, [first, second].map(|number| number.load(Ordering::Relaxed)))
    }
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
    /// Whether all of it is written, whatever it held before: an `out`.
    pub(crate) anew: bool,
}

impl Access {
    /// Whether all of it is within the `bytes` bytes from `start` on.
    pub(crate) fn is_within(&self, start: DevicePtr, bytes: usize) -> bool {
        let end = self.ptr.0.checked_sub(start.0).and_then(|before| before.checked_add(self.bytes as u64));
        end.is_some_and(|end| end <= bytes as u64)
    }
}
