//! Kernels as the rest of the runtime sees them: sources, declarations, and threads on the host.

use std::borrow::Cow;

use crate::base::in_rust::RustSource;

/// A kernel source, as `#[kernels("saxpy.cu")]` embeds it.
#[derive(Debug)]
#[doc(hidden)]
pub struct KernelModule {
    /// The path as the user wrote it.
    pub file: &'static str,
    /// The file's content.
    pub source: KernelSource,
    /// The path of the file in the tree that [`headers`](Self::headers) are in.
    pub path: &'static str,
    /// The files that it includes, directly or through others.
    pub headers: &'static [Header],
    /// The folders of that tree in which included files are looked for, in order.
    pub include: &'static [&'static str],
    /// Options for NVRTC, after those that this crate gives.
    pub options: &'static [&'static str],
    /// The name expressions to instantiate, such as `reduce<float>`.
    pub instances: &'static [&'static str],
}

/// The content of a kernel source.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub enum KernelSource {
    /// CUDA C++, for NVRTC to compile.
    Cuda(&'static str),
    /// PTX, a cubin or a fatbin, for the driver to load.
    Image(&'static [u8]),
    /// A kernel in Rust, whose CUDA C++ is joined when it is compiled.
    Rust(&'static RustSource),
}

impl KernelSource {
    /// The CUDA C++ for NVRTC to compile; `None` for what is compiled already.
    pub fn cuda(self) -> Option<Cow<'static, str>> {
        match self {
            Self::Cuda(text) => Some(Cow::Borrowed(text)),
            Self::Rust(source) => Some(Cow::Owned(source.joined())),
            Self::Image(_) => None,
        }
    }

    /// Whether it is PTX, a cubin or a fatbin.
    pub(crate) fn is_image(self) -> bool {
        matches!(self, Self::Image(_))
    }
}

/// A file that a kernel source includes.
#[derive(Debug)]
#[doc(hidden)]
pub struct Header {
    /// The path from the root of a tree that holds all files of the source, with `/` and without `..`.
    pub path: &'static str,
    /// The file's content.
    pub text: &'static str,
}

impl KernelModule {
    /// A source of CUDA C++.
    pub const fn cuda(file: &'static str, source: &'static str) -> Self {
        Self::new(file, KernelSource::Cuda(source))
    }

    /// A source that is PTX, a cubin or a fatbin.
    pub const fn image(file: &'static str, image: &'static [u8]) -> Self {
        Self::new(file, KernelSource::Image(image))
    }

    /// A kernel in Rust.
    pub const fn rust(source: &'static RustSource) -> Self {
        Self::new(source.file, KernelSource::Rust(source))
    }

    const fn new(file: &'static str, source: KernelSource) -> Self {
        Self { file, source, path: file_name(file), headers: &[], include: &[], options: &[], instances: &[] }
    }

    /// Adds the file's own place in a tree, the files that it includes, and the folders in which they are
    /// looked for.
    #[must_use]
    pub const fn including(
        self,
        path: &'static str,
        headers: &'static [Header],
        include: &'static [&'static str],
    ) -> Self {
        Self { path, headers, include, ..self }
    }

    /// Adds options of NVRTC.
    #[must_use]
    pub const fn options(self, options: &'static [&'static str]) -> Self {
        Self { options, ..self }
    }

    /// Adds the name expressions to instantiate.
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

/// The declaration of one kernel, as `#[kernels]` knows it.
#[derive(Debug)]
#[doc(hidden)]
pub struct KernelInfo {
    /// Its name in Rust.
    pub name: &'static str,
    /// Its name in the source, if it is no instance of a template.
    pub symbol: &'static str,
    /// Its name expression, if it is an instance of a template. It is one of the module's
    /// [`instances`](KernelModule::instances).
    pub instance: Option<&'static str>,
    /// The module that contains its source.
    pub module: &'static KernelModule,
    /// The size of each of its parameters in the source, in bytes, in order.
    pub parameters: &'static [usize],
    /// The module's variables that launches give as arguments.
    pub symbols: &'static [&'static str],
    /// The size of each of those variables in the source, in bytes, in order; empty if no size is known.
    pub symbol_bytes: &'static [Option<usize>],
    /// The first value of its `__launch_bounds__`, in threads.
    pub max_threads_per_block: Option<u32>,
    /// Blocks in a cluster, as `[x, y, z]`, if launches must ask for clusters.
    pub cluster: Option<[u32; 3]>,
    /// Whether its blocks wait for each other, so that all of them must be on the device at once.
    pub cooperative: bool,
    /// Whether it has a host body. Without one the simulated device cannot run it.
    pub has_host_body: bool,
}

impl KernelInfo {
    /// A kernel with a name and no further properties.
    pub const fn new(name: &'static str, module: &'static KernelModule) -> Self {
        Self {
            name,
            symbol: name,
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

    /// Gives it another name in the source.
    #[must_use]
    pub const fn symbol(self, symbol: &'static str) -> Self {
        Self { symbol, ..self }
    }

    /// Makes it an instance of a template.
    #[must_use]
    pub const fn instance(self, instance: &'static str) -> Self {
        Self { instance: Some(instance), ..self }
    }

    /// Adds the sizes of its parameters, in bytes.
    #[must_use]
    pub const fn parameters(self, parameters: &'static [usize]) -> Self {
        Self { parameters, ..self }
    }

    /// Adds the module's variables that launches give as arguments.
    #[must_use]
    pub const fn symbols(self, symbols: &'static [&'static str]) -> Self {
        Self { symbols, ..self }
    }

    /// Adds the sizes of those variables in the source, in bytes, if they are known.
    #[must_use]
    pub const fn symbol_bytes(self, symbol_bytes: &'static [Option<usize>]) -> Self {
        Self { symbol_bytes, ..self }
    }

    /// Adds `__launch_bounds__(threads)`.
    #[must_use]
    pub const fn launch_bounds(self, threads: u32) -> Self {
        Self { max_threads_per_block: Some(threads), ..self }
    }

    /// Has it launched in clusters of `blocks` blocks.
    #[must_use]
    pub const fn cluster(self, blocks: [u32; 3]) -> Self {
        Self { cluster: Some(blocks), ..self }
    }

    /// Has it launched with all of its blocks on the device at once.
    #[must_use]
    pub const fn cooperative(self) -> Self {
        Self { cooperative: true, ..self }
    }

    /// Says that it has a host body.
    #[must_use]
    pub const fn on_host(self) -> Self {
        Self { has_host_body: true, ..self }
    }
}

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
