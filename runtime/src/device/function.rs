//! [`Function`]: a kernel on a device, and the limits of its launches.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::base::error::{Detail, Result};
use crate::base::kernel::{KernelInfo, KernelSource};
use crate::base::plan::Priority;
use crate::base::threads::{Grid, volume};
use crate::device::Device;
use crate::device::faults::Faults;
use crate::device::pending::SharedFaults;
use crate::device::release::release;
use crate::device::stream::Stream;
use crate::driver::{Loaded, RawFunction, RawModule, RawSymbol};

/// A kernel that is loaded on a device. Each type made by `#[kernels]` holds one.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct Function {
    pub(crate) device: Device,
    pub(crate) raw: RawFunction,
    pub(crate) name: &'static str,
    pub(crate) symbols: &'static [&'static str],
    /// The largest amount of shared memory of a block, in bytes.
    max_shared: u32,
    source: KernelSource,
    /// Whether a launch fails again in the same way on what it has read.
    replays: bool,
    /// The sizes of the symbols in the source, if they are known.
    symbol_bytes: &'static [Option<usize>],
    /// The module that a kernel with symbols has to itself.
    pub(crate) own: Option<Arc<OwnModule>>,
    /// The last launch that the device can hold, for a kernel with clusters or a barrier for its grid. Most
    /// chunks have the same launch, so the driver need not be asked again.
    fits: Arc<Mutex<Option<Grid>>>,
}

impl Function {
    /// Compiles the kernel's source for `device` if needed and finds the kernel in it.
    ///
    /// # Errors
    /// NVRTC is missing, the source does not compile, the file is not for this device, or it lacks the kernel
    /// or has another one than was declared; or the device cannot launch the kernel as declared; or, on the
    /// simulated device, the kernel has no host body.
    pub fn load(device: &Device, kernel: &'static KernelInfo) -> Result<Self> {
        let Loaded { function: raw, own } = device.driver().load(kernel)?;
        let own = match own {
            Some(raw) => Some(Arc::new(OwnModule::new(device, raw)?)),
            None => None,
        };
        let KernelInfo { name, symbols, symbol_bytes, module, replays, .. } = *kernel;
        let max_shared = device.driver().info().max_shared;
        let (device, source, fits) = (device.clone(), module.source, Arc::default());
        Ok(Self { device, raw, name, symbols, max_shared, source, replays, symbol_bytes, own, fits })
    }

    /// Where threads of the kernel leave their place when they fail; `None` on a device whose launches report
    /// it themselves.
    pub(crate) fn faults(&self) -> Option<Faults> {
        let (KernelSource::Rust(source), Some(own)) = (self.source, &self.own) else { return None };
        Some(Faults::new(self.name, source, own.raw.fault?, self.replays))
    }

    /// Whether launches are kept, so that the host can run them again if a thread fails on the device.
    #[inline]
    pub(crate) fn is_kept(&self) -> bool {
        self.replays && self.own.as_ref().is_some_and(|own| own.raw.fault.is_some())
    }

    /// Notes that a stream by hand launches the kernel. Nobody knows when that is over, so the module and its
    /// word stay until the device goes, and waits on the device read the word. `None` if the kernel leaves
    /// no faults in a word.
    pub(crate) fn launched_by_hand(&self) -> Option<&Arc<SharedFaults>> {
        let shared = self.own.as_ref()?.by_hand.get_or_init(|| {
            let shared = Arc::new(SharedFaults::new(self.faults()?));
            self.device.registry().watch_faults(Arc::clone(&shared));
            Some(shared)
        });
        shared.as_ref()
    }

    /// The size in bytes of the variable behind a symbol: on the device, or in the source if the device has
    /// no variables.
    pub(crate) fn symbol_size(&self, index: usize) -> Option<usize> {
        let of_device = self.own.as_ref()?.symbols().get(index);
        of_device.map(|symbol| symbol.bytes).or_else(|| *self.symbol_bytes.get(index)?)
    }
}

// Note 14: two pipelines never share a variable.
/// A module that one [`Function`] has to itself, because launches give the values of its variables.
///
/// A run that launches from the module holds it until the run has drained, and leaks it if that fails.
#[derive(Debug)]
pub(crate) struct OwnModule {
    device: Device,
    raw: RawModule,
    /// The stream on which the variables are written, with nothing else under way. `None` on a device without
    /// variables.
    pub(crate) stream: Option<Stream>,
    /// Whether a run has given the variables their values.
    claimed: AtomicBool,
    /// Its faults, once streams by hand have launched from it.
    by_hand: OnceLock<Option<Arc<SharedFaults>>>,
}

impl OwnModule {
    fn new(device: &Device, raw: RawModule) -> Result<Self> {
        // The value is made first, so that the module is unloaded if no stream can be created.
        let mut module = Self {
            device: device.clone(),
            raw,
            stream: None,
            claimed: AtomicBool::new(false),
            by_hand: OnceLock::new(),
        };
        if !module.symbols().is_empty() {
            module.stream = Some(Stream::new(device, Priority::Default)?);
        }
        Ok(module)
    }

    /// The variables, in the order of the kernel's declaration; empty on a device without variables.
    pub(crate) fn symbols(&self) -> &[RawSymbol] {
        &self.raw.symbols
    }

    /// Takes the variables for a run; `false` if another run has them.
    pub(crate) fn claim(&self) -> bool {
        !self.claimed.swap(true, Ordering::Acquire)
    }

    /// Notes that the run that had claimed the variables is over.
    pub(crate) fn release(&self) {
        self.claimed.store(false, Ordering::Release);
    }
}

impl Drop for OwnModule {
    fn drop(&mut self) {
        if self.by_hand.get().is_some() {
            return;
        }
        let raw = std::mem::take(&mut self.raw);
        release(&self.device, move |driver| {
            // Nobody here could use an error.
            // SAFETY: the module is unloaded here only. What was launched from it has completed: a run holds
            // the module until it has drained, and leaks it if the device does not answer.
            let _ = unsafe { driver.unload(&raw) };
        });
    }
}

/// CUDA's limits, for each axis.
const GRID_LIMITS: [(&str, u32); 3] = [("grid.x", 2_147_483_647), ("grid.y", 65_535), ("grid.z", 65_535)];
const BLOCK_LIMITS: [(&str, u32); 3] = [("block.x", 1024), ("block.y", 1024), ("block.z", 64)];

/// Whether the device can launch this: checks CUDA's limits, which every device has, and the device's own.
#[inline]
pub(crate) fn check_limits(function: &Function, launch: Grid) -> Result<(), Detail> {
    let RawFunction { max_threads_per_block, static_shared, ref cluster, cooperative, .. } = function.raw;
    let is_plain = cluster.is_none() && !cooperative;
    // Most launches are plain and well within the limits.
    if is_plain
        && are_within(launch.grid_dim, GRID_LIMITS)
        && are_within(launch.block_dim, BLOCK_LIMITS)
        && volume(launch.block_dim) <= u64::from(max_threads_per_block)
        && u64::from(launch.shared) + u64::from(static_shared) <= u64::from(function.max_shared)
    {
        return Ok(());
    }
    check_each_limit(function, launch)
}

#[inline(never)]
fn check_each_limit(function: &Function, launch: Grid) -> Result<(), Detail> {
    let Grid { grid_dim: grid, block_dim: block, shared } = launch;
    let kernel = function.name;
    let most = u64::from(function.raw.max_threads_per_block);
    let swapped = are_swapped(launch, most);
    for axis in 0..3 {
        check_extent(kernel, grid[axis], GRID_LIMITS[axis], None)?;
        check_extent(kernel, block[axis], BLOCK_LIMITS[axis], swapped)?;
    }
    let threads = volume(block);
    if threads > most {
        return beyond(kernel, "threads per block", threads, most, swapped);
    }
    let (fixed, most) = (function.raw.static_shared, function.max_shared);
    if u64::from(shared) + u64::from(fixed) > u64::from(most) {
        return Err(Detail::SharedMemory { kernel, dynamic: shared, fixed, limit: most });
    }
    if function.raw.cluster.is_none() && !function.raw.cooperative {
        return Ok(());
    }
    // A panic cannot leave the value half-changed.
    let mut fits = function.fits.lock().unwrap_or_else(PoisonError::into_inner);
    if *fits != Some(launch) {
        check_residency(function, launch)?;
        *fits = Some(launch);
    }
    Ok(())
}

/// Whether each extent is at least 1 and within its limit.
#[inline]
fn are_within(extent: [u32; 3], limits: [(&str, u32); 3]) -> bool {
    // The subtraction turns 0 into a value beyond any limit.
    let is_within = |axis: usize| extent[axis].wrapping_sub(1) < limits[axis].1;
    is_within(0) && is_within(1) && is_within(2)
}

#[cold]
fn check_extent(
    kernel: &'static str,
    value: u32,
    (name, most): (&'static str, u32),
    swapped: Option<[[u32; 3]; 2]>,
) -> Result<(), Detail> {
    match value {
        0 => beyond(kernel, name, 0, 1, None),
        _ if value > most => beyond(kernel, name, value.into(), most.into(), swapped),
        _ => Ok(()),
    }
}

#[cold]
fn beyond(
    kernel: &'static str,
    what: &'static str,
    value: u64,
    limit: u64,
    swapped: Option<[[u32; 3]; 2]>,
) -> Result<(), Detail> {
    Err(Detail::LaunchLimit { kernel, what, value, limit, swapped })
}

/// The threads of a warp. The size of most blocks is a multiple of it.
const WARP: u64 = 32;

/// The grid and the block, exchanged, if the launch would fit that way and the grid would be a block of whole
/// warps. A block along more than one axis, or whose size is a multiple of the most threads, counts as a
/// block that is too large.
fn are_swapped(launch: Grid, max_threads_per_block: u64) -> Option<[[u32; 3]; 2]> {
    let Grid { grid_dim: grid, block_dim: block, .. } = launch;
    let fits = are_within(grid, BLOCK_LIMITS)
        && are_within(block, GRID_LIMITS)
        && block[1..] == [1, 1]
        && block[0] % BLOCK_LIMITS[0].1 != 0
        && volume(grid) <= max_threads_per_block
        && volume(grid).is_multiple_of(WARP);
    fits.then_some([grid, block])
}

/// Whether the device can hold all blocks that must be on it at once.
fn check_residency(function: &Function, launch: Grid) -> Result<(), Detail> {
    let (kernel, driver) = (function.name, function.device.driver());
    let limit = |what, value: u64, limit: u64| beyond(kernel, what, value, limit, None);
    let grid = launch.grid_dim;
    if let Some(cluster) = function.raw.cluster {
        let blocks = cluster.blocks;
        if grid.iter().zip(blocks).any(|(&grid, cluster)| !grid.is_multiple_of(cluster)) {
            return Err(Detail::ClusterGrid { kernel, grid, cluster: blocks });
        }
        let most = driver.largest_cluster(&function.raw, launch).map_err(Detail::Driver)?;
        if volume(blocks) > u64::from(most) {
            return limit("blocks per cluster", volume(blocks), most.into());
        }
    }
    if function.raw.cooperative {
        let most = driver.resident_blocks(&function.raw, launch).map_err(Detail::Driver)?;
        if volume(grid) > most {
            return limit("blocks of a cooperative launch", volume(grid), most);
        }
    }
    Ok(())
}
