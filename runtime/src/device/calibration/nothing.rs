//! A kernel that does nothing, whose launches are timed. What fills memory takes the host a third of the time that a
//! kernel does, so that a fill cannot stand for one.

use std::ffi::c_void;
use std::ptr;

use crate::base::in_rust::RustSource;
use crate::base::kernel::{KernelInfo, KernelModule};
use crate::base::threads::Grid;
use crate::device::Device;
use crate::device::memory::NO_OPERATION;
use crate::device::stream::Stream;
use crate::driver::{Command, DriverResult, HostBodies, HostBody, RawFunction, RawLaunch};

const NAME: &str = "thalweg_nothing";

/// PTX, which the driver compiles in a millisecond, for every GPU that a driver of CUDA 12 knows.
static PTX: KernelModule = KernelModule::image(
    "thalweg_nothing.ptx",
    b".version 6.0\n.target sm_50\n.address_size 64\n\
      .visible .entry thalweg_nothing(.param .u64 x, .param .u64 y, .param .u32 n)\n{\n    ret;\n}\n",
);

/// The sizes of its parameters, which are as many as many kernels have.
const PARAMETERS: [usize; 3] = [8, 8, 4];

static ON_A_GPU: KernelInfo = KernelInfo::new(NAME, &PTX).parameters(&PARAMETERS);

static IN_RUST: RustSource = RustSource::none(NAME);
static MODULE_IN_RUST: KernelModule = KernelModule::rust(&IN_RUST);
/// On the host its body alone counts, which a launch gives, and that is run as those of kernels in Rust are.
static ON_THE_HOST: KernelInfo = KernelInfo::new(NAME, &MODULE_IN_RUST).parameters(&PARAMETERS).on_host();

/// The kernel, loaded.
pub(super) struct Nothing(RawFunction);

impl Nothing {
    /// `None` if the driver does not load it.
    pub(super) fn load(device: &Device) -> Option<Self> {
        let kernel = if device.is_on_host() { &ON_THE_HOST } else { &ON_A_GPU };
        // It has no variables, and no faults: its module is the driver's own.
        device
            .driver()
            .load(kernel)
            .ok()
            .filter(|loaded| loaded.own.is_none())
            .map(|loaded| Self(loaded.function))
    }

    /// Launches one block of it.
    pub(super) fn launch(&self, device: &Device, stream: &Stream) -> DriverResult<()> {
        self.with_launch(0, |launch| {
            // SAFETY: the function is that of `load`, of this device. The parameters are as many and as large as it
            // has, and are copied before the call returns; it reads none of them, and accesses no memory. The stream
            // is live.
            unsafe { device.driver().enqueue(Command::Launch(launch), stream.raw, NO_OPERATION) }
        })
    }

    /// Does something with a launch of one block, whose last argument is `number`.
    pub(super) fn with_launch<R>(&self, number: u32, act: impl FnOnce(&RawLaunch<'_>) -> R) -> R {
        let pointers = [0_u64; 2];
        let pointer = |pointer: &u64| ptr::from_ref(pointer).cast_mut().cast::<c_void>();
        let params = [
            pointer(&pointers[0]),
            pointer(&pointers[1]),
            ptr::from_ref(&number).cast_mut().cast::<c_void>(),
        ];
        let body = |_: Grid| body();
        act(&RawLaunch {
            function: self.0,
            grid: [1; 3],
            block: [32, 1, 1],
            shared: 0,
            params: &params,
            sizes: &PARAMETERS,
            accesses: &[],
            bodies: HostBodies::Many(&body),
        })
    }
}

/// What a launch of it does on the host.
pub(super) fn body() -> HostBody {
    Box::new(|| ())
}
