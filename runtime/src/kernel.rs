//! Kernels as the rest of the runtime sees them: sources, launch configurations, threads on the host.

use crate::device::Device;
use crate::driver::RawFunction;
use crate::error::{ErrorKind, Result};

/// A kernel source, as `#[kernels("saxpy.cu")]` embeds it.
#[derive(Debug)]
#[doc(hidden)]
pub struct KernelModule {
    /// The path as the user wrote it.
    pub file: &'static str,
    /// The source text.
    pub source: &'static str,
}

/// What `#[kernels]` knows of one kernel.
#[derive(Debug)]
#[doc(hidden)]
pub struct KernelInfo {
    /// Its name in the source.
    pub name: &'static str,
    /// Its source.
    pub module: &'static KernelModule,
    /// The first value of its `__launch_bounds__`, in threads.
    pub max_threads_per_block: Option<u32>,
    /// Whether it has a host body, without which the simulated device cannot run it.
    pub has_host_body: bool,
}

/// The position of one thread in a launch: what a kernel's host body gets in place of `threadIdx` and `blockIdx`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    /// `threadIdx`, as `[x, y, z]`.
    pub index: [u32; 3],
    /// `blockIdx`.
    pub block: [u32; 3],
    /// `blockDim`, in threads.
    pub block_dim: [u32; 3],
    /// `gridDim`, in blocks.
    pub grid_dim: [u32; 3],
}

impl Thread {
    /// `blockIdx.x * blockDim.x + threadIdx.x`.
    #[inline]
    pub fn global_x(&self) -> usize {
        self.global(0)
    }

    /// `blockIdx.y * blockDim.y + threadIdx.y`.
    #[inline]
    pub fn global_y(&self) -> usize {
        self.global(1)
    }

    /// `blockIdx.z * blockDim.z + threadIdx.z`.
    #[inline]
    pub fn global_z(&self) -> usize {
        self.global(2)
    }

    #[inline]
    fn global(&self, axis: usize) -> usize {
        self.block[axis] as usize * self.block_dim[axis] as usize + self.index[axis] as usize
    }
}

/// A whole launch: what a kernel's host body gets when it is written for all threads at once.
///
/// Such a body is called once a launch with its slices whole, so it may split them among the CPU's cores itself (with
/// `rayon`, say), which a body that is called once a thread cannot: its `&mut` slices would alias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// `gridDim`, in blocks, as `[x, y, z]`.
    pub grid_dim: [u32; 3],
    /// `blockDim`, in threads.
    pub block_dim: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared: u32,
}

impl Grid {
    /// All threads of the launch, block by block.
    pub fn threads(&self) -> impl Iterator<Item = Thread> + use<> {
        let Self { grid_dim, block_dim, .. } = *self;
        positions(grid_dim).flat_map(move |block| {
            positions(block_dim).map(move |index| Thread { index, block, block_dim, grid_dim })
        })
    }
}

fn positions([nx, ny, nz]: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    (0..nz).flat_map(move |z| (0..ny).flat_map(move |y| (0..nx).map(move |x| [x, y, z])))
}

/// Blocks of `block` threads that cover `items`, at least one: the usual first value of `<<<grid, block>>>`.
///
/// A count that CUDA's grid cannot hold saturates, and the launch then reports the limit.
///
/// ```
/// assert_eq!(thalweg::blocks(1000, 256), 4);
/// assert_eq!(thalweg::blocks(0, 256), 1);
/// ```
///
/// # Panics
/// Never: `block == 0` is taken as 1, and the launch reports the empty block.
#[inline]
pub const fn blocks(items: usize, block: u32) -> u32 {
    let block = if block == 0 { 1 } else { block as usize };
    let count = items.div_ceil(block);
    if count == 0 {
        1
    } else if count > u32::MAX as usize {
        u32::MAX
    } else {
        count as u32
    }
}

/// A kernel that is loaded on a device. Types made by `#[kernels]` hold one.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct Function {
    pub(crate) device: Device,
    pub(crate) raw: RawFunction,
    pub(crate) name: &'static str,
}

impl Function {
    /// Compiles the kernel's source for `device` if needed and finds the kernel in it.
    ///
    /// # Errors
    /// NVRTC is missing, the source does not compile, or has no such kernel; on the simulated device, the kernel has
    /// no host body.
    pub fn load(device: &Device, kernel: &'static KernelInfo) -> Result<Self> {
        let raw = device.driver().load(kernel)?;
        Ok(Self { device: device.clone(), raw, name: kernel.name })
    }
}

/// CUDA's limits on one launch, whatever the device.
pub(crate) fn check_limits(
    function: &Function,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
) -> Result<(), ErrorKind> {
    let limit = |what, value: u64, limit: u64| {
        Err(ErrorKind::LaunchLimit { kernel: function.name, what, value, limit })
    };
    let names = [
        ("grid.x", "block.x", 2_147_483_647, 1024),
        ("grid.y", "block.y", 65_535, 1024),
        ("grid.z", "block.z", 65_535, 64),
    ];
    for (axis, (grid_name, block_name, grid_limit, block_limit)) in names.into_iter().enumerate() {
        for (name, value, most) in
            [(grid_name, grid[axis], grid_limit), (block_name, block[axis], block_limit)]
        {
            if value == 0 {
                return limit(name, 0, 1);
            }
            if value > most {
                return limit(name, value.into(), most.into());
            }
        }
    }
    let threads: u64 = block.iter().map(|&n| u64::from(n)).product();
    let most = u64::from(function.raw.max_threads_per_block);
    if threads > most {
        return limit("threads per block", threads, most);
    }
    let bytes = u64::from(shared) + u64::from(function.raw.static_shared);
    let most = u64::from(function.device.driver().info().max_shared);
    if bytes > most {
        return limit("shared memory in bytes", bytes, most);
    }
    Ok(())
}
