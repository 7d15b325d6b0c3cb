//! Small copies in graphs, which a kernel carries out.
//!
//! A copy engine starts late, and what comes after its copy on the compute engine starts late again. On an H200 a graph
//! of a copy to the device, three small kernels and a copy back takes 19.4 us for 4 KiB and 27.7 us for 64 KiB. With a
//! kernel for each copy it takes 12.6 and 16.4 us, and if such graphs follow one another on four streams, 3.1 and
//! 5.2 us each in place of 4.6 and 6.8. From 256 KiB on the rate is that of copy engines or less.
//!
//! Outside of graphs the launch of a kernel takes the host longer than a copy, so that only the driver's copies are
//! used there.

use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

use super::context::Context;
use super::module::Modules;
use crate::base::kernel::{KernelInfo, KernelModule};
use crate::driver::command::SMALL_COPY;
use crate::driver::{Command, DevicePtr, Info, RawFunction};

/// The largest copy for which such a kernel stays if the graph is changed, in bytes. A graph whose copies are now
/// smaller and now larger is not made anew each time.
const MOST_KEPT: usize = 256 << 10;

/// The threads of a block.
const THREADS: u32 = 256;

static PTX: KernelModule = KernelModule::image("small_copy.ptx", include_bytes!("small_copy.ptx"));

static KERNEL: KernelInfo = KernelInfo::new("thalweg_copy", &PTX).parameters(&[8; 3]);

/// The kernel, loaded when the first graph needs it.
pub(super) struct Copier {
    /// Its own: what is compiled for other kernels may take seconds, and graphs do not wait for that.
    modules: Modules,
    function: OnceLock<Option<RawFunction>>,
}

impl Copier {
    pub(super) fn new() -> Self {
        Self { modules: Modules::new(), function: OnceLock::new() }
    }

    /// The kernel. `None` if the driver does not load it: then graphs have the driver's copies.
    pub(super) fn function(&self, context: &Context, info: &Info) -> Option<RawFunction> {
        let load = || self.modules.load(context, info, &KERNEL).ok().map(|loaded| loaded.function);
        *self.function.get_or_init(load)
    }
}

/// A copy between the host and the device, as the arguments of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SmallCopy {
    to: u64,
    from: u64,
    bytes: u64,
}

impl SmallCopy {
    /// The command, if a graph that is made gets a kernel for it.
    pub(super) fn new(command: &Command<'_>) -> Option<Self> {
        Self::up_to(SMALL_COPY, command)
    }

    /// The command, if the kernel that has been there for another copy stays for this one.
    pub(super) fn kept(command: &Command<'_>) -> Option<Self> {
        Self::up_to(MOST_KEPT, command)
    }

    fn up_to(most: usize, command: &Command<'_>) -> Option<Self> {
        // All page-locked memory has the same address on the device: `pinned` sees to that.
        let (to, from, bytes) = match *command {
            Command::CopyToDevice { to: DevicePtr(to), from, bytes } => {
                (to, from.expose_provenance() as u64, bytes)
            }
            Command::CopyToHost { to, from: DevicePtr(from), bytes } => {
                (to.expose_provenance() as u64, from, bytes)
            }
            _ => return None,
        };
        (bytes <= most).then_some(Self { to, from, bytes: bytes as u64 })
    }

    /// The blocks of a launch: a thread for each access.
    pub(super) fn blocks(&self) -> u32 {
        let accesses = match (self.to | self.from).trailing_zeros() {
            0 | 1 => self.bytes,
            2 | 3 => self.bytes.div_ceil(4),
            _ => self.bytes.div_ceil(16),
        };
        // At most `MOST_KEPT` bytes.
        accesses.div_ceil(THREADS.into()).max(1) as u32
    }

    /// The threads of a block.
    pub(super) fn threads(&self) -> u32 {
        THREADS
    }

    /// The kernel's arguments. The pointers are valid as long as `self` is borrowed.
    pub(super) fn arguments(&self) -> [*mut c_void; 3] {
        [&self.to, &self.from, &self.bytes].map(|argument| ptr::from_ref(argument).cast_mut().cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(to: u64, from: usize, bytes: usize) -> SmallCopy {
        let command = Command::CopyToDevice { to: DevicePtr(to), from: ptr::without_provenance(from), bytes };
        SmallCopy::new(&command).expect("a small copy")
    }

    #[test]
    fn a_launch_has_a_thread_for_each_access() {
        assert_eq!(copy(256, 512, 64 << 10).blocks(), 16);
        assert_eq!(copy(256, 516, 64 << 10).blocks(), 64);
        assert_eq!(copy(258, 512, 64 << 10).blocks(), 256);
        assert_eq!(copy(256, 512, 4097).blocks(), 2);
        assert_eq!(copy(256, 512, 1).blocks(), 1);
    }

    #[test]
    fn only_small_copies_between_host_and_device_have_kernels() {
        let (device, host) = (DevicePtr(256), ptr::without_provenance_mut(512));
        let up = |bytes| Command::CopyToDevice { to: device, from: host, bytes };
        let down = |bytes| Command::CopyToHost { to: host, from: device, bytes };
        let within = Command::CopyOnDevice { to: device, from: DevicePtr(4096), bytes: 16 };
        for (bytes, new, kept) in [
            (1, true, true),
            (SMALL_COPY, true, true),
            (SMALL_COPY + 1, false, true),
            (MOST_KEPT + 1, false, false),
        ] {
            for command in [up(bytes), down(bytes)] {
                assert_eq!(SmallCopy::new(&command).is_some(), new, "{bytes}");
                assert_eq!(SmallCopy::kept(&command).is_some(), kept, "{bytes}");
            }
        }
        assert_eq!((SmallCopy::new(&within), SmallCopy::kept(&within)), (None, None));
    }
}
