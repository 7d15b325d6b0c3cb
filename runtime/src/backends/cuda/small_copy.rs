//! Small copies in the graphs of runs, which a kernel carries out.
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
use super::info;
use super::module::Modules;
use super::sys::CUdevice_attribute as Attribute;
use crate::base::kernel::{KernelInfo, KernelModule};
use crate::base::model::SMALL_COPY;
use crate::driver::{Command, DevicePtr, Info, RawFunction};

/// How many times larger the copies are for which such a kernel stays if the graph is changed. A graph whose copies are
/// now smaller and now larger is not made anew each time.
const KEPT: usize = 4;

/// Whether memory that was registered has the same address on the device.
const SAME_ADDRESS: Attribute = Attribute::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM;

/// The threads of a block.
const THREADS: u32 = 256;

static PTX: KernelModule = KernelModule::image("small_copy.ptx", include_bytes!("small_copy.ptx"));

static KERNEL: KernelInfo = KernelInfo::new("thalweg_copy", &PTX).parameters(&[8; 3]);

/// The kernel. It is loaded when a pipeline is built, and not when a graph is: a load waits until the device has nothing
/// to do, and the device may be waiting for the host.
// Note 84: a load waits for the device.
pub(super) struct Copier {
    /// Its own: what is compiled for other kernels may take seconds.
    modules: Modules,
    function: OnceLock<RawFunction>,
}

impl Copier {
    pub(super) fn new() -> Self {
        Self { modules: Modules::new(), function: OnceLock::new() }
    }

    /// Loads the kernel, unless it is loaded. If that fails, the next pipeline tries again.
    pub(super) fn prepare(&self, context: &Context, info: &Info) {
        // Memory that others have registered for their GPU has another address on such a device.
        if self.function().is_none()
            && info::attribute(context, SAME_ADDRESS).is_ok_and(|same| same != 0)
            && let Ok(loaded) = self.modules.load(context, info, &KERNEL)
        {
            let _ = self.function.set(loaded.function);
        }
    }

    /// The kernel. `None` if it is not loaded: then graphs have the driver's copies.
    pub(super) fn function(&self) -> Option<RawFunction> {
        self.function.get().copied()
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
        Self::of(command).filter(|copy| copy.bytes <= copy.most())
    }

    /// The command, if the kernel that has been there for another copy stays for this one.
    pub(super) fn kept(command: &Command<'_>) -> Option<Self> {
        Self::of(command).filter(|copy| copy.bytes <= KEPT as u64 * copy.most())
    }

    fn of(command: &Command<'_>) -> Option<Self> {
        // All page-locked memory has the same address on the device: `pinned` sees to that, and so does `Copier`.
        let (to, from, bytes) = match *command {
            Command::CopyToDevice { to: DevicePtr(to), from, bytes } => {
                (to, from.expose_provenance() as u64, bytes)
            }
            Command::CopyToHost { to, from: DevicePtr(from), bytes } => {
                (to.expose_provenance() as u64, from, bytes)
            }
            _ => return None,
        };
        Some(Self { to, from, bytes: bytes as u64 })
    }

    /// Bytes of an access: as many as both places are aligned to, of those that the kernel knows.
    fn width(&self) -> u64 {
        match (self.to | self.from).trailing_zeros() {
            0 | 1 => 1,
            2 | 3 => 4,
            _ => 16,
        }
    }

    /// Bytes of the largest copy for which a kernel is better than a copy engine: fewer where accesses are narrow.
    fn most(&self) -> u64 {
        let most = SMALL_COPY as u64;
        match self.width() {
            16 => most,
            4 => most / 2,
            _ => most / 4,
        }
    }

    /// The blocks of a launch: a thread for each access.
    pub(super) fn blocks(&self) -> u32 {
        // At most `KEPT * SMALL_COPY` bytes.
        self.bytes.div_ceil(self.width()).div_ceil(THREADS.into()).max(1) as u32
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
        assert_eq!(copy(256, 516, 32 << 10).blocks(), 32);
        assert_eq!(copy(258, 512, 16 << 10).blocks(), 64);
        assert_eq!(copy(256, 512, 4097).blocks(), 2);
        assert_eq!(copy(256, 512, 1).blocks(), 1);
    }

    #[test]
    fn only_small_copies_between_host_and_device_have_kernels() {
        // Places that are aligned to 16 bytes, to 4, and to none.
        for (host, most) in
            [(512, SMALL_COPY), (516, SMALL_COPY / 2), (514, SMALL_COPY / 4), (513, SMALL_COPY / 4)]
        {
            let (device, host) = (DevicePtr(256), ptr::without_provenance_mut(host));
            let cases =
                [(1, true, true), (most, true, true), (most + 1, false, true), (4 * most + 1, false, false)];
            for (bytes, new, kept) in cases {
                let up = Command::CopyToDevice { to: device, from: host, bytes };
                let down = Command::CopyToHost { to: host, from: device, bytes };
                for command in [up, down] {
                    assert_eq!(SmallCopy::new(&command).is_some(), new, "{host:?}: {bytes}");
                    assert_eq!(SmallCopy::kept(&command).is_some(), kept, "{host:?}: {bytes}");
                }
            }
        }
        let within = Command::CopyOnDevice { to: DevicePtr(256), from: DevicePtr(4096), bytes: 16 };
        assert_eq!((SmallCopy::new(&within), SmallCopy::kept(&within)), (None, None));
    }
}
