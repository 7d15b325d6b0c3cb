//! The threads of a launch, as host bodies and the native code of kernels see them.

/// The position of one thread in a launch. A kernel's host body gets it in place of `threadIdx` and
/// `blockIdx`.
///
/// A host body that takes it is called once for each thread, one after another. It is a plain function, so a
/// test can call it without any device:
///
/// ```
/// use thalweg::kernel::{Grid, Thread};
///
/// /// What `#[host(saxpy_on_host)]` names, in `#[kernels]`.
/// fn saxpy_on_host(thread: Thread, n: u32, a: f32, x: &[f32], y: &mut [f32]) {
///     let i = thread.global_x();
///     if i < n as usize {
///         y[i] += a * x[i];
///     }
/// }
///
/// let (x, mut y) = ([1.0; 7], [2.0; 7]);
/// // `<<<2, 4>>>`: 8 threads, one more than there are elements.
/// for thread in (Grid { grid_dim: [2, 1, 1], block_dim: [4, 1, 1], shared: 0 }).threads() {
///     saxpy_on_host(thread, 7, 3.0, &x, &mut y);
/// }
/// assert_eq!(y, [5.0; 7]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    /// The thread's index in its block: `threadIdx`, as `[x, y, z]`.
    pub index: [u32; 3],
    /// The block's index in the grid: `blockIdx`, as `[x, y, z]`.
    pub block: [u32; 3],
    /// The block's extents: `blockDim`, in threads, as `[x, y, z]`.
    pub block_dim: [u32; 3],
    /// The grid's extents: `gridDim`, in blocks, as `[x, y, z]`.
    pub grid_dim: [u32; 3],
}

impl Thread {
    /// The thread's index in the grid along x: `blockIdx.x * blockDim.x + threadIdx.x`.
    #[inline]
    pub fn global_x(&self) -> usize {
        self.global(0)
    }

    /// The thread's index in the grid along y: `blockIdx.y * blockDim.y + threadIdx.y`.
    #[inline]
    pub fn global_y(&self) -> usize {
        self.global(1)
    }

    /// The thread's index in the grid along z: `blockIdx.z * blockDim.z + threadIdx.z`.
    #[inline]
    pub fn global_z(&self) -> usize {
        self.global(2)
    }

    #[inline]
    fn global(&self, axis: usize) -> usize {
        self.block[axis] as usize * self.block_dim[axis] as usize + self.index[axis] as usize
    }
}

/// A whole launch. A host body that is written for all threads at once gets it.
///
/// Such a body is called once a launch with its slices whole, so it may split them among the CPU's cores
/// itself (with `rayon`, say). A body that is called once a thread cannot: its `&mut` slices would alias.
///
/// ```
/// use thalweg::kernel::Grid;
///
/// /// The sum of each block's share of `x`, in the block's place of `sums`.
/// fn sums_on_host(grid: Grid, x: &[f32], sums: &mut [f32]) {
///     let [blocks, ..] = grid.grid_dim;
///     let share = x.len().div_ceil(blocks as usize);
///     for (sum, x) in sums.iter_mut().zip(x.chunks(share)) {
///         *sum = x.iter().sum();
///     }
/// }
///
/// let grid = Grid { grid_dim: [2, 1, 1], block_dim: [128, 1, 1], shared: 0 };
/// let mut sums = [0.0; 2];
/// sums_on_host(grid, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &mut sums);
/// assert_eq!(sums, [6.0, 15.0]);
/// assert_eq!(grid.threads().count(), 2 * 128);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// The grid's extents: `gridDim`, in blocks, as `[x, y, z]`.
    pub grid_dim: [u32; 3],
    /// The block's extents: `blockDim`, in threads, as `[x, y, z]`.
    pub block_dim: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared: u32,
}

impl Grid {
    /// All threads of the launch, block by block. Among blocks and threads, x varies fastest and z slowest.
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

/// The number of blocks of `block` threads that cover `items`, at least 1: the usual first value of
/// `<<<grid, block>>>`.
///
/// A count that CUDA's grid cannot hold saturates, and the launch then reports the limit.
///
/// ```
/// assert_eq!(thalweg::kernel::blocks(1000, 256), 4);
/// assert_eq!(thalweg::kernel::blocks(0, 256), 1);
/// ```
///
/// # Panics
/// Never: `block == 0` counts as 1, and the launch reports the empty block.
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

/// The product of an extent. One axis has at most 2^31 - 1, and the others at most 2^16, so that the product
/// of a grid fits.
pub(crate) fn volume(extent: [u32; 3]) -> u64 {
    extent.iter().map(|&n| u64::from(n)).product()
}
