//! Kernels as the rest of the runtime sees them: sources, declarations, threads on the host.

/// A kernel source, as `#[kernels("saxpy.cu")]` embeds it.
#[derive(Debug)]
#[doc(hidden)]
pub struct KernelModule {
    /// The path as the user wrote it.
    pub file: &'static str,
    /// What is in the file.
    pub source: KernelSource,
    /// The path of the file in the tree that [`headers`](Self::headers) are in.
    pub path: &'static str,
    /// The files that it includes, and those that they include.
    pub headers: &'static [Header],
    /// The folders of that tree to look for included files in, in order.
    pub include: &'static [&'static str],
    /// For NVRTC, after those that this crate gives.
    pub options: &'static [&'static str],
    /// The name expressions to instantiate, `reduce<float>`.
    pub instances: &'static [&'static str],
}

/// What a kernel source is.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub enum KernelSource {
    /// CUDA C++, for NVRTC to compile.
    Cuda(&'static str),
    /// PTX, a cubin or a fatbin, for the driver to load.
    Image(&'static [u8]),
}

/// A file that a kernel source includes.
#[derive(Debug)]
#[doc(hidden)]
pub struct Header {
    /// From the root of a tree that holds all files of the source, with `/` and without `..`.
    pub path: &'static str,
    /// What is in it.
    pub text: &'static str,
}

impl KernelModule {
    /// CUDA C++.
    pub const fn cuda(file: &'static str, source: &'static str) -> Self {
        Self::new(file, KernelSource::Cuda(source))
    }

    /// PTX, a cubin or a fatbin.
    pub const fn image(file: &'static str, image: &'static [u8]) -> Self {
        Self::new(file, KernelSource::Image(image))
    }

    const fn new(file: &'static str, source: KernelSource) -> Self {
        Self { file, source, path: file_name(file), headers: &[], include: &[], options: &[], instances: &[] }
    }

    /// The file's own place in a tree, the files that it includes, and the folders to look for them in.
    #[must_use]
    pub const fn including(
        self,
        path: &'static str,
        headers: &'static [Header],
        include: &'static [&'static str],
    ) -> Self {
        Self { path, headers, include, ..self }
    }

    /// Further options of NVRTC.
    #[must_use]
    pub const fn options(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }

    /// The name expressions to instantiate.
    #[must_use]
    pub const fn instances(self, instances: &'static [&'static str]) -> Self {
        Self { instances, ..self }
    }
}

/// The part of a path after its last folder.
const fn file_name(path: &'static str) -> &'static str {
    let mut start = path.len();
    while start > 0 && !matches!(path.as_bytes()[start - 1], b'/' | b'\\') {
        start -= 1;
    }
    path.split_at(start).1
}

/// What `#[kernels]` knows of one kernel.
#[derive(Debug)]
#[doc(hidden)]
pub struct KernelInfo {
    /// Its name in Rust, and in the source if it is no instance of a template.
    pub name: &'static str,
    /// Its name expression, if it is an instance of a template; one of the module's [`instances`](KernelModule::instances).
    pub instance: Option<&'static str>,
    /// Its source.
    pub module: &'static KernelModule,
    /// The size of each of its parameters in the source, in bytes, in order.
    pub parameters: &'static [usize],
    /// The module's variables that launches give as arguments.
    pub symbols: &'static [&'static str],
    /// The size of each of those in the source, in bytes, in order; empty where no size is known.
    pub symbol_bytes: &'static [Option<usize>],
    /// The first value of its `__launch_bounds__`, in threads.
    pub max_threads_per_block: Option<u32>,
    /// Blocks in a cluster, as `[x, y, z]`, if launches must ask for clusters.
    pub cluster: Option<[u32; 3]>,
    /// Whether its blocks wait for each other, so that all of them must be on the device at once.
    pub cooperative: bool,
    /// Whether it has a host body, without which the simulated device cannot run it.
    pub has_host_body: bool,
}

impl KernelInfo {
    /// A kernel that has a name and nothing else.
    pub const fn new(name: &'static str, module: &'static KernelModule) -> Self {
        Self {
            name,
            instance: None,
            module,
            parameters: &[],
            symbols: &[],
            symbol_bytes: &[],
            max_threads_per_block: None,
            cluster: None,
            cooperative: false,
            has_host_body: false,
        }
    }

    /// An instance of a template.
    #[must_use]
    pub const fn instance(self, instance: &'static str) -> Self {
        Self { instance: Some(instance), ..self }
    }

    /// The sizes of its parameters, in bytes.
    #[must_use]
    pub const fn parameters(self, parameters: &'static [usize]) -> Self {
        Self { parameters, ..self }
    }

    /// The module's variables that launches give as arguments.
    #[must_use]
    pub const fn symbols(self, symbols: &'static [&'static str]) -> Self {
        Self { symbols, ..self }
    }

    /// The sizes of those variables in the source, in bytes, where it tells.
    #[must_use]
    pub const fn symbol_bytes(self, symbol_bytes: &'static [Option<usize>]) -> Self {
        Self { symbol_bytes, ..self }
    }

    /// `__launch_bounds__(threads)`.
    #[must_use]
    pub const fn launch_bounds(self, threads: u32) -> Self {
        Self { max_threads_per_block: Some(threads), ..self }
    }

    /// Launched in clusters of so many blocks.
    #[must_use]
    pub const fn cluster(self, blocks: [u32; 3]) -> Self {
        Self { cluster: Some(blocks), ..self }
    }

    /// Launched with all of its blocks on the device at once.
    #[must_use]
    pub const fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    /// It has a host body.
    #[must_use]
    pub const fn on_host(self) -> Self {
        Self { has_host_body: true, ..self }
    }
}

/// The position of one thread in a launch: what a kernel's host body gets in place of `threadIdx` and `blockIdx`.
///
/// A host body that takes it is called once a thread, one after another. It is a plain function, so that a test can call it with
/// no device at all:
///
/// ```
/// use thalweg::{Grid, Thread};
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
    /// `threadIdx`, as `[x, y, z]`.
    pub index: [u32; 3],
    /// `blockIdx`, as `[x, y, z]`.
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
///
/// ```
/// use thalweg::Grid;
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
    /// `gridDim`, in blocks, as `[x, y, z]`.
    pub grid_dim: [u32; 3],
    /// `blockDim`, in threads.
    pub block_dim: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared: u32,
}

impl Grid {
    /// All threads of the launch, block by block; of blocks and threads, x counts fastest and z slowest.
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

/// The elements of an extent. An axis has at most 2^31 - 1 of them, the others 2^16: the product of a grid fits.
pub(crate) fn volume(extent: [u32; 3]) -> u64 {
    extent.iter().map(|&n| u64::from(n)).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_alone_is_at_the_root_of_its_tree() {
        for (file, path) in [("k.cu", "k.cu"), ("../cu/k.cu", "k.cu"), ("a\\k.cu", "k.cu"), ("", "")] {
            assert_eq!(KernelModule::cuda(file, "").path, path);
        }
    }
}
