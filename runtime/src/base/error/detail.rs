//! [`Detail`]: everything that can happen, with its text.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use super::text::{
    OWN_LENGTH, WITHOUT_A_GPU, after_newline, asked_for, cause, closest, counted, dimensions_of_blocks,
    extent, from_first_on, hidden, list, list_of, loans, meant, of_them_shared, other_way_round,
    smaller_ring, threads, threads_and_elements, to_be_in_memory, to_cover, to_write_all, with,
};
use super::touch::{Touch, users};
use super::{DriverError, Place, RanksDetail, Site};
use crate::base::in_rust::KernelFault;

/// What happened, with all that is known about it. Programs see its text and its
/// [`ErrorKind`](super::ErrorKind).
#[derive(Debug, Clone, thiserror::Error)]
pub enum Detail {
    /// CUDA's driver library is not there.
    #[error(
        "no CUDA driver: none of its libraries could be loaded{}\n  looked for {}{WITHOUT_A_GPU}",
        asked_for(asked.as_deref()),
        list(looked_for)
    )]
    NoCudaDriver {
        /// Library names, in the order they were tried.
        looked_for: Vec<String>,
        /// `THALWEG_DEVICE`, if it is what asked for a GPU.
        asked: Option<String>,
    },
    /// The CUDA driver is there but lacks a function that is needed.
    #[error("the CUDA driver is too old: it has no `{symbol}`")]
    CudaDriverTooOld {
        /// The missing function.
        symbol: &'static str,
    },
    /// There is no GPU of this index.
    #[error(
        "there is no CUDA device {index}: this machine has {count}{}{}",
        hidden(visible.as_deref()),
        if *count == 0 { WITHOUT_A_GPU } else { "" }
    )]
    NoSuchDevice {
        /// The index asked for, from 0.
        index: usize,
        /// The number of GPUs.
        count: usize,
        /// `CUDA_VISIBLE_DEVICES`, if it is set: the driver has hidden all others.
        visible: Option<String>,
    },
    /// `THALWEG_DEVICE` names no device.
    #[error(
        "`THALWEG_DEVICE={value}` names no device: write `cpu`, `sim`, or `cuda:0` for the first GPU; for several `sim:4`, `cuda:0,2` or `cuda:all`"
    )]
    UnknownDevice {
        /// The variable's value.
        value: String,
    },
    /// The CPU as a device was asked for with a number of threads that it cannot have.
    #[error("{asked} is no number of threads for the CPU: it takes at least 1")]
    CpuThreads {
        /// The option or the variable, with its value.
        asked: String,
    },
    /// A file is not a calibration of a device, or cannot be read or written.
    #[error("`{path}` cannot be used as a calibration: {message}")]
    Calibration {
        /// The file.
        path: String,
        /// The reason.
        message: String,
    },
    /// Users other than this process's can write into the folder of compiled kernels, and so decide what a
    /// GPU would run.
    #[error(
        "`{folder}` cannot hold compiled kernels: {reason}\n  note: whoever writes there decides what runs on the GPU\n  help: {help}\n  help: with `THALWEG_CACHE=off` nothing is kept, and `THALWEG_CACHE=folder` names another one"
    )]
    CacheFolder {
        /// The folder, with links resolved.
        folder: String,
        /// The reason.
        reason: String,
        /// The remedy for the folder.
        help: String,
    },
    /// NVRTC, which compiles `.cu` files, is not there.
    #[error(
        "no NVRTC to compile `{file}`: none of its libraries could be loaded\n  looked for {}\n  help: install the CUDA toolkit, or PyPI's `nvidia-cuda-nvrtc` on the library path",
        list(looked_for)
    )]
    NoNvrtc {
        /// The kernel source.
        file: &'static str,
        /// Library names, in the order they were tried.
        looked_for: Vec<String>,
    },
    /// [`compile_kernels`](crate::compile_kernels) finds no kernel that it could compile.
    #[error(
        "no kernel to compile: none is registered\n  \
         note: kernels are registered in tests only, those of the crate that is being tested\n  \
         help: call `compile_kernels` in a unit test of the crate that has the kernels:\n    \
         in its `#[cfg(test)] mod tests`, and run `cargo test`"
    )]
    NoKernels,
    /// A `.cu` file does not compile.
    #[error("`{file}` does not compile for {architecture}:\n{}", log.trim_end())]
    Compile {
        /// The kernel source.
        file: &'static str,
        /// The architecture, such as `sm_90`.
        architecture: String,
        /// The compiler's own text.
        log: String,
    },
    /// NVRTC does not compile for this architecture.
    #[error(
        "`{file}` cannot be compiled for `{architecture}`, which this NVRTC does not know{}\n  \
         note: an architecture is `sm_` and a GPU's compute capability: `sm_80` for 8.0\n  \
         note: it knows {}",
        meant(architecture, supported),
        list_of(supported, 8)
    )]
    Architecture {
        /// The kernel source.
        file: &'static str,
        /// The architecture that was asked for.
        architecture: String,
        /// The architectures that NVRTC compiles for, from the oldest, such as `sm_75`.
        supported: Vec<String>,
    },
    /// A kernel's source does not have it.
    #[error("`{file}` has no kernel `{kernel}`")]
    NoSuchKernel {
        /// The kernel's name.
        kernel: &'static str,
        /// The kernel source.
        file: &'static str,
    },
    /// A kernel has another number of parameters than its declaration.
    #[error("kernel `{kernel}` is declared with {}, but in `{file}` it has {found}", counted(*declared, "parameter"))]
    ParameterCount {
        /// The kernel's name.
        kernel: &'static str,
        /// The kernel source.
        file: &'static str,
        /// Parameters of the declaration, without symbols.
        declared: usize,
        /// Parameters of the compiled kernel.
        found: usize,
    },
    /// A parameter of a kernel has another size than in the declaration.
    #[error(
        "parameter {index} of kernel `{kernel}` is declared with {}, but in `{file}` it has {found}",
        counted(*declared, "byte")
    )]
    ParameterSize {
        /// The kernel's name.
        kernel: &'static str,
        /// The kernel source.
        file: &'static str,
        /// The parameter's index, from 1, without symbols.
        index: usize,
        /// Bytes of the Rust type.
        declared: usize,
        /// Bytes in the compiled kernel.
        found: usize,
    },
    /// A file is not PTX, a cubin or a fatbin, is cut off, or is refused by the driver.
    #[error("`{file}` cannot be loaded: {reason}{}", after_newline(log))]
    InvalidImage {
        /// The file.
        file: &'static str,
        /// The problem with the file.
        reason: String,
        /// The driver's own text, if there is any.
        log: String,
    },
    /// A PTX, cubin or fatbin file is for other devices than this one.
    #[error(
        "`{file}` cannot be loaded: it holds {holds}, but `{device}` is sm_{}{}{}",
        compute_capability.0,
        compute_capability.1,
        after_newline(log)
    )]
    NoCodeForDevice {
        /// The file.
        file: &'static str,
        /// What the file holds, such as `code for sm_80`.
        holds: String,
        /// The device's name.
        device: String,
        /// The device's compute capability, `(9, 0)` for `sm_90`.
        compute_capability: (u32, u32),
        /// The driver's own text, if there is any.
        log: String,
    },
    /// The PTX has a newer version than the driver knows.
    #[error(
        "`{file}` cannot be loaded: it is PTX {version}, which is newer than this driver (for CUDA {}.{}) can compile\n  help: update the driver, or have the file made by an older compiler",
        driver.0,
        driver.1
    )]
    PtxTooNew {
        /// The file.
        file: &'static str,
        /// The version that the file states, such as `8.8`.
        version: String,
        /// The CUDA release that the driver supports, `(major, minor)`.
        driver: (u32, u32),
    },
    /// This crate cannot work with an option for NVRTC.
    #[error("`{file}` cannot be compiled with `{option}`: {reason}")]
    CompileOption {
        /// The kernel source.
        file: &'static str,
        /// The option as it is written.
        option: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// The CPU or the simulated device cannot run a kernel.
    #[error(
        "kernel `{kernel}` has no host body for the {device}: add `#[host(…)]` to its declaration, or write the kernel in Rust"
    )]
    NoHostBody {
        /// The kernel's name.
        kernel: &'static str,
        /// What the device is.
        device: &'static str,
    },
    /// Two host arguments have different numbers of items.
    #[error("`{host}` has {}, but `{other}` has {other_items}{OWN_LENGTH}", counted(*items, "item"))]
    Length {
        /// One argument.
        host: &'static str,
        /// Its items.
        items: usize,
        /// Another argument.
        other: &'static str,
        /// Its items.
        other_items: usize,
    },
    /// The length of a host argument is not a multiple of its items' size.
    #[error("`{host}` has {}, which is not a multiple of {per_item} elements an item", counted(*len, "element"))]
    Shape {
        /// The argument.
        host: &'static str,
        /// Its elements.
        len: usize,
        /// Elements in one item.
        per_item: usize,
    },
    /// A shape has zero elements an item, or is too large to address.
    #[error("`{buffer}` has {per_item} elements an item: at least 1 and a size that fits memory are needed")]
    ItemSize {
        /// The declaration.
        buffer: &'static str,
        /// Elements in one item.
        per_item: usize,
    },
    /// A halo does not fit memory.
    #[error("`{buffer}` has a halo of {halo} items, which is more than fits memory")]
    HaloSize {
        /// The declaration.
        buffer: &'static str,
        /// Items on each side.
        halo: usize,
    },
    /// An output that is `per chunk` has too few elements for the chunks.
    #[error(
        "`{host}` has {}, but {} with {per_chunk} each {} {}",
        counted(*len, "element"),
        counted(*chunks, "chunk"),
        if *chunks == 1 { "needs" } else { "need" },
        chunks.saturating_mul(*per_chunk)
    )]
    PerChunkLength {
        /// The argument.
        host: &'static str,
        /// Its elements.
        len: usize,
        /// Chunks of the run.
        chunks: usize,
        /// Elements for each chunk.
        per_chunk: usize,
    },
    /// The two sides of a copy have different shapes.
    #[error("`{from}` has {} an item, but `{to}` has {to_per_item}", counted(*from_per_item, "element"))]
    CopyShape {
        /// The source.
        from: &'static str,
        /// Its elements in one item.
        from_per_item: usize,
        /// The destination.
        to: &'static str,
        /// Its elements in one item.
        to_per_item: usize,
    },
    /// The argument of `run` for a `carry` has another length than is declared.
    #[error("`{carry}` has {}, but {declared} are declared", counted(*len, "element"))]
    CarryLength {
        /// The argument.
        carry: &'static str,
        /// Its elements.
        len: usize,
        /// The number of elements that is declared.
        declared: usize,
    },
    /// A slice is not as long as the `DeviceBuf` that it is copied from or to.
    #[error("the `DeviceBuf` has {}, but the slice has {slice}", counted(*len, "element"))]
    DeviceBufLength {
        /// The buffer's elements.
        len: usize,
        /// The slice's elements.
        slice: usize,
    },
    /// A range is not within its buffer.
    #[error("{start}..{end} is no range of a buffer of {}", counted(*len, "element"))]
    Range {
        /// The first element.
        start: usize,
        /// One past the last element.
        end: usize,
        /// The buffer's elements.
        len: usize,
    },
    /// The ring does not fit the pipeline's budget.
    #[error(
        "the ring needs {needed} bytes of device memory{}, but its budget is {budget}\n  help: {}",
        of_them_shared(*shared),
        smaller_ring(*needed, *shared, *budget, (*slots, *chunk))
    )]
    Budget {
        /// Bytes that the ring needs.
        needed: usize,
        /// Those of them that exist once for the run: the buffers that are `resident` or `carry`.
        shared: usize,
        /// Bytes that the ring may take.
        budget: usize,
        /// Slots of the ring: the depth, or the number of chunks if the run has fewer.
        slots: usize,
        /// Items in a chunk.
        chunk: usize,
    },
    /// A chunk has no items.
    #[error("a chunk must have at least 1 item")]
    ChunkZero,
    /// A ring has no slots.
    #[error("the depth must be at least 1 slot")]
    DepthZero,
    /// A ring has more slots than can be numbered.
    #[error("a depth of {depth} slots is more than the {limit} that a ring may have")]
    DepthTooLarge {
        /// The depth that was asked for.
        depth: usize,
        /// The largest possible depth.
        limit: usize,
    },
    /// Device memory does not suffice.
    #[error("device memory is exhausted: {what} needs {requested} bytes, {free} are free")]
    OutOfDeviceMemory {
        /// What the memory was for.
        what: String,
        /// Bytes asked for.
        requested: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Page-locked host memory does not suffice.
    #[error("page-locked host memory is exhausted: {what} needs {requested} bytes")]
    OutOfPinnedMemory {
        /// What the memory was for.
        what: String,
        /// Bytes asked for.
        requested: u64,
    },
    /// A launch exceeds the device's limits.
    #[error(
        "kernel `{kernel}` cannot be launched: {what} is {value}, but {}{}",
        if *value < *limit { format!("it must be at least {limit}") } else { format!("the limit is {limit}") },
        other_way_round(swapped)
    )]
    LaunchLimit {
        /// The kernel's name.
        kernel: &'static str,
        /// What is too large, such as `threads per block`.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The limit: the most, or the least if the value is 0.
        limit: u64,
        /// The grid and the block the other way round, if they would fit so.
        swapped: Option<[[u32; 3]; 2]>,
    },
    /// A launch asks for more shared memory than a block of the device can have.
    #[error(
        "kernel `{kernel}` cannot be launched: it needs {} bytes of shared memory ({dynamic} of the launch and {fixed} that the kernel declares), but the limit is {limit}",
        u64::from(*dynamic) + u64::from(*fixed)
    )]
    SharedMemory {
        /// The kernel's name.
        kernel: &'static str,
        /// The dynamic shared memory that the launch asks for, in bytes.
        dynamic: u32,
        /// The static shared memory that the source declares, in bytes.
        fixed: u32,
        /// The shared memory that a block may have at most, in bytes.
        limit: u32,
    },
    /// The blocks of a launch do not fill their clusters.
    #[error(
        "kernel `{kernel}` cannot be launched: a grid of {} blocks is not a multiple of clusters of {}",
        extent(grid),
        extent(cluster)
    )]
    ClusterGrid {
        /// The kernel's name.
        kernel: &'static str,
        /// The launch's grid, in blocks, as `[x, y, z]`.
        grid: [u32; 3],
        /// The kernel's clusters, in blocks, as `[x, y, z]`.
        cluster: [u32; 3],
    },
    /// A kernel's source fixes other clusters than its declaration.
    #[error(
        "kernel `{kernel}` is declared with clusters of {} blocks, but `{file}` has `__cluster_dims__` of {}",
        extent(declared),
        extent(found)
    )]
    ClusterDiffers {
        /// The kernel's name.
        kernel: &'static str,
        /// The kernel source.
        file: &'static str,
        /// What `#[cluster(…)]` declares, in blocks, as `[x, y, z]`.
        declared: [u32; 3],
        /// What the source fixes, in the same form.
        found: [u32; 3],
    },
    /// This device cannot run a kernel as it is declared.
    #[error(
        "kernel `{kernel}` needs {need}, which `{device}` (compute capability {}.{}) does not have",
        compute_capability.0,
        compute_capability.1
    )]
    DeviceLacks {
        /// The kernel's name.
        kernel: &'static str,
        /// What the kernel needs, such as `clusters of blocks`.
        need: &'static str,
        /// The device's name.
        device: String,
        /// The device's compute capability, such as `(8, 0)` for an A100.
        compute_capability: (u32, u32),
    },
    /// A kernel's source does not have a variable.
    #[error(
        "`{file}` has no variable `{symbol}`, which kernel `{kernel}` is declared with: it must be a `__constant__` or `__device__` variable outside of namespaces"
    )]
    NoSuchSymbol {
        /// The variable's name.
        symbol: &'static str,
        /// The kernel's name.
        kernel: &'static str,
        /// The kernel source.
        file: &'static str,
    },
    /// A variable is smaller than the buffer that a launch gives for it.
    #[error("`{symbol}` of kernel `{kernel}` has {}, but the launch gives {bytes} for it", counted(*size, "byte"))]
    SymbolSize {
        /// The kernel's name.
        kernel: &'static str,
        /// The variable's name.
        symbol: &'static str,
        /// Bytes of the buffer.
        bytes: usize,
        /// Bytes of the variable.
        size: usize,
    },
    /// A launch gives a variable a buffer that may change within a run.
    #[error(
        "`{symbol}` of kernel `{kernel}` is copied once a run: a launch can give a `resident` for it only"
    )]
    SymbolNotResident {
        /// The kernel's name.
        kernel: &'static str,
        /// The variable's name.
        symbol: &'static str,
    },
    /// Launches of one run give different buffers for one variable.
    #[error(
        "`{symbol}` of kernel `{kernel}` is copied once a run, and holds another buffer than this launch gives for it"
    )]
    SymbolChanged {
        /// The kernel's name.
        kernel: &'static str,
        /// The variable's name.
        symbol: &'static str,
    },
    /// A launch breaks the kernel's `#[requires(…)]`.
    #[error("kernel `{kernel}` requires `{condition}`{}", with(values))]
    Requires {
        /// The kernel's name.
        kernel: &'static str,
        /// The condition as it is written.
        condition: &'static str,
        /// The numbers and the slices' lengths in it: `("n", "1001")`, `("x.len()", "1000")`.
        values: Vec<(&'static str, String)>,
    },
    /// The shape that a launch gives for a parameter is not that of the buffer.
    #[error(
        "`{parameter}` of kernel `{kernel}` has {}, which are not a shape of {shape:?}\n  \
         help: each element needs one index: make the shape's product as many",
        counted(*elements, "element")
    )]
    ShapeOfElements {
        /// The kernel's name.
        kernel: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// The axes, the one that varies fastest last.
        shape: Vec<usize>,
        /// Elements of the buffer.
        elements: usize,
    },
    /// A kernel takes several elements of a buffer at a time, and some are left over.
    #[error(
        "`{parameter}` of kernel `{kernel}` has {}, of which the kernel takes {group} at a time\n  \
         note: {} would be left over\n  \
         help: make the length a multiple of {group}; in a pipeline with {group} values an item: `[T; {group}]`",
        counted(*elements, "element"),
        elements % group
    )]
    NotWhole {
        /// The kernel's name.
        kernel: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// The elements that it takes as one.
        group: usize,
        /// Elements of the buffer.
        elements: usize,
    },
    /// The threads of a launch are not one for each element of a parameter.
    #[error(
        "the launch <<<{}, {}>>> of kernel `{kernel}` does not have one thread for each element of `{parameter}`\n  \
         note: {}\n  help: {}",
        extent(grid),
        extent(block),
        threads_and_elements(parameter, shape, grid, block),
        to_cover(shape, block)
    )]
    NotCovered {
        /// The kernel's name.
        kernel: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// The axes of the parameter, the one that varies fastest last.
        shape: Vec<usize>,
        /// The blocks of the launch, as `[x, y, z]`.
        grid: [u32; 3],
        /// The threads of a block, as `[x, y, z]`.
        block: [u32; 3],
    },
    /// The launch of a kernel in blocks has more dimensions than the kernel counts.
    #[error(
        "the launch <<<{}, {}>>> of kernel `{kernel}` has more than {}",
        extent(grid),
        extent(block),
        dimensions_of_blocks(*axes)
    )]
    InBlocks {
        /// The kernel's name.
        kernel: &'static str,
        /// The dimensions of its grid.
        axes: usize,
        /// The blocks of the launch, as `[x, y, z]`.
        grid: [u32; 3],
        /// The threads of a block, as `[x, y, z]`.
        block: [u32; 3],
    },
    /// The blocks of a launch have another number of threads than the kernel says.
    #[error(
        "the launch <<<{}, {}>>> of kernel `{kernel}` has not {threads} threads in each block\n  \
         note: the kernel is `#[kernel(threads = {threads})]`\n  help: write `<<<…, {threads}>>>`",
        extent(grid),
        extent(block)
    )]
    ThreadsOfBlocks {
        /// The kernel's name.
        kernel: &'static str,
        /// The threads that it says.
        threads: u32,
        /// The blocks of the launch, as `[x, y, z]`.
        grid: [u32; 3],
        /// The threads of a block, as `[x, y, z]`.
        block: [u32; 3],
    },
    /// A thread of a kernel in Rust has panicked.
    #[error("kernel `{kernel}` failed {fault}")]
    KernelFault {
        /// The kernel's name.
        kernel: &'static str,
        /// The place, the thread and the message.
        fault: Box<KernelFault>,
    },
    /// A kernel is passed overlapping buffers, at least one of them to write.
    #[error("kernel `{kernel}` is passed overlapping buffers, one of them to write")]
    Aliased {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// A kernel's host body panicked on the simulated device.
    #[error("the host body of kernel `{kernel}` panicked: {message}")]
    HostBody {
        /// The kernel's name.
        kernel: &'static str,
        /// The panic's message.
        message: String,
    },
    /// A kernel has left elements of an `Out<[…]>` unwritten, on the simulated device.
    #[error(
        "kernel `{kernel}` leaves {unwritten} of the {} of `{parameter}` unwritten, {}\n  \
         note: `Out<[…]>` promises to write every one\n  \
         note: the launch was <<<{}, {}>>>, which is {}\n  help: {}",
        counted(*elements, "element"),
        from_first_on(*elements, *unwritten, *first),
        extent(grid),
        extent(block),
        counted(threads(grid, block), "thread"),
        to_write_all(*elements, *enough, threads(grid, block), block, *by_threads)
    )]
    Unwritten {
        /// The kernel's name.
        kernel: &'static str,
        /// The name of the parameter.
        parameter: &'static str,
        /// The number of elements that the launch gives for it.
        elements: usize,
        /// The number of elements that were not written.
        unwritten: usize,
        /// The index of the first of them, from 0.
        first: usize,
        /// The launch's grid, in blocks, as `[x, y, z]`.
        grid: [u32; 3],
        /// The launch's blocks, in threads, as `[x, y, z]`.
        block: [u32; 3],
        /// The number of blocks along x that would suffice, if a larger grid would.
        enough: Option<u32>,
        /// Whether each thread of the kernel has elements of its own, as in Rust.
        by_threads: bool,
    },
    /// A `host` function panicked or returned an error.
    #[error("host function `{function}` failed: {message}")]
    HostFunction {
        /// The function's path as it is written.
        function: &'static str,
        /// The message of the panic or of the error.
        message: String,
    },
    /// A callback panicked or returned an error.
    #[error("a callback failed: {message}")]
    Callback {
        /// The message of the panic or of the error.
        message: String,
    },
    /// A routine that a pipeline calls reported an error.
    #[error("`{routine}` failed: {status}{}", cause(device))]
    Routine {
        /// The library's function, such as `cublasSaxpy`.
        routine: String,
        /// What the function returned, by name if it has one.
        status: String,
        /// What the device reported at the end of the run, if it failed too.
        device: Option<Box<DriverError>>,
    },
    /// A routine's work panicked on the simulated device, which is itself the device's report.
    #[error("`{routine}` failed: it panicked: {message}")]
    RoutineBody {
        /// The routine, as the pipeline calls it.
        routine: &'static str,
        /// The panic's message.
        message: String,
    },
    /// A routine that works on the CPU and the simulated device only was called on a GPU.
    #[error("a routine works on the CPU and the simulated device only, but this is a GPU")]
    NotSimulated,
    /// A routine's state ([`Enqueue::state`](crate::routine::Enqueue::state)) is in use by a routine that has
    /// called this one, or was not given back by a routine that has returned.
    #[error(
        "`{state}`, which a routine keeps, is not there: a routine that called this one has it, or an earlier one has forgotten it (`mem::forget`)"
    )]
    StateInUse {
        /// The type of the state.
        state: &'static str,
    },
    /// An error of a library's crate.
    #[error("{error}{}", cause(device))]
    Library {
        /// The crate's own error.
        error: Arc<dyn StdError + Send + Sync>,
        /// What the device reported at the end of the run, if it failed too.
        device: Option<Box<DriverError>>,
    },
    /// A source has returned an error or panicked. The place is that of the first copy from it, and the chunk
    /// is the one that the source was asked for.
    #[error("source `{host}` failed: {error}")]
    Source {
        /// The argument.
        host: &'static str,
        /// The source's own error, or one that gives the panic's message.
        error: Arc<io::Error>,
    },
    /// A source has ended before it gave as many items as another argument has.
    #[error("source `{host}` ended after {}, but `{other}` has {wanted}{OWN_LENGTH}", counted(*items, "item"))]
    SourceEnded {
        /// The argument.
        host: &'static str,
        /// Its items.
        items: usize,
        /// The argument whose length counts.
        other: &'static str,
        /// Its items.
        wanted: usize,
    },
    /// One of several sources has ended, or its session's input was flushed, before another.
    #[error(
        "source `{host}` ended or was flushed after {}, but `{other}` has gone on to {given}\n  help: all sources of a run give as many items; flush and end the inputs of a session together",
        counted(*items, "item")
    )]
    SourcesDiffer {
        /// The argument whose source ended first.
        host: &'static str,
        /// Its items.
        items: usize,
        /// Another argument.
        other: &'static str,
        /// The items that its source has given so far. There may be more.
        given: usize,
    },
    /// A sink has returned an error or panicked. The place is that of the copy to it, and the chunk is the
    /// one that the sink was given; without a chunk, the sink had taken all chunks and failed at the end.
    #[error("sink `{host}` failed: {error}")]
    Sink {
        /// The argument.
        host: &'static str,
        /// The sink's own error, or one that gives the panic's message.
        error: Arc<io::Error>,
    },
    /// An argument cannot be a source or a sink.
    #[error("`{host}` cannot be streamed: {reason}{}", to_be_in_memory(reason))]
    NotStreamed {
        /// The argument.
        host: &'static str,
        /// The reason.
        reason: &'static str,
    },
    /// Nothing gives the number of items of a run or a prediction. A source gives it by ending, which only a
    /// run finds out.
    #[error(
        "nothing says how many items there are: `{host}` is streamed, and no other argument has a length"
    )]
    UnknownLength {
        /// The first source or sink.
        host: &'static str,
    },
    /// The thread of a source or a sink cannot be started.
    #[error("no thread for `{host}` can be started: {message}")]
    NoStreamThread {
        /// The argument.
        host: &'static str,
        /// The operating system's message.
        message: String,
    },
    /// The thread of callbacks cannot be started.
    #[error("no thread for callbacks can be started: {message}")]
    NoThread {
        /// The operating system's message.
        message: String,
    },
    /// A buffer that an earlier failure left to the device.
    #[error("`{host}` is poisoned: an earlier run failed and the device may still access it")]
    Poisoned {
        /// The argument.
        host: &'static str,
    },
    /// A buffer or a loaded kernel belongs to another device than the pipeline. Page-locked memory that is
    /// only copied may belong to another GPU, or to another simulated device.
    #[error("`{host}` belongs to {its}, but the pipeline to {own}")]
    OtherDevice {
        /// The argument, or the kernel.
        host: &'static str,
        /// Its device, `` `NVIDIA H200` (`cuda:1`) ``.
        its: String,
        /// The pipeline's device.
        own: String,
    },
    /// A pipeline was to be built on no device.
    #[error("a pipeline needs a device, but the list of devices is empty")]
    NoDevices,
    /// A pipeline was to be built on one device twice.
    #[error("devices {} and {} are both {device}\n  help: list each device once: it works on several chunks at a time", numbers[0], numbers[1])]
    SameDevice {
        /// The device, such as `` `NVIDIA H200` (`cuda:1`) ``.
        device: String,
        /// Its numbers in the list.
        numbers: [usize; 2],
    },
    /// A pipeline was to be built on a simulated device and on another one.
    #[error("{one} and {other} cannot share a run: the time of a simulated device is not real")]
    DevicesDiffer {
        /// The first device.
        one: String,
        /// The first of another kind.
        other: String,
    },
    /// An argument has a part or a copy on each device, but the pipeline is built on another number of devices.
    #[error(
        "`{buffer}` is a {}, but the pipeline is built on {}\n  help: make it for the list of devices that the pipeline is built on",
        if *is_copied {
            format!("`Replicated` of {parts} {}", if *parts == 1 { "copy" } else { "copies" })
        } else {
            format!("`Sharded` of {}", counted(*parts, "part"))
        },
        counted(*devices, "device")
    )]
    Parts {
        /// The argument.
        buffer: &'static str,
        /// The number of its parts, or of its copies.
        parts: usize,
        /// The number of devices.
        devices: usize,
        /// Whether it has copies.
        is_copied: bool,
    },
    /// A part or a copy of an argument is on another device than the one of its number.
    #[error(
        "{} {part} of `{buffer}` is on {}, and belongs on device {part}\n  help: make `{buffer}` for the list of devices that the pipeline is built on, in the same order",
        if *is_copied { "copy" } else { "part" },
        match found {
            Some(number) => format!("device {number} of the pipeline"),
            None => format!("{its}, which is no device of the pipeline"),
        }
    )]
    PartElsewhere {
        /// The argument.
        buffer: &'static str,
        /// The number of the part, from 0.
        part: usize,
        /// Whether it has copies.
        is_copied: bool,
        /// The part's device, such as `` `NVIDIA H200` (`cuda:1`) ``.
        its: String,
        /// The number of that device in the pipeline's list, if it has one.
        found: Option<usize>,
    },
    /// Two arguments are in parts that begin at different items.
    #[error(
        "the parts of `{buffer}` begin at the items {borders:?}, but those of `{other}` at {other_borders:?}\n  help: a chunk goes to the device that has its part of every argument: divide all of them in the same way"
    )]
    PartBorders {
        /// The argument.
        buffer: &'static str,
        /// The first items of its parts.
        borders: Vec<usize>,
        /// An earlier argument.
        other: &'static str,
        /// The first items of its parts.
        other_borders: Vec<usize>,
    },
    /// A part of an argument would begin within a chunk.
    #[error(
        "a part of `{buffer}` begins at item {border}, within a chunk of {chunk} items\n  help: a chunk is on one device, so that each part but the last has whole chunks: write `auto`, or a divisor of {common}"
    )]
    PartInChunk {
        /// The argument.
        buffer: &'static str,
        /// The first item of a part.
        border: usize,
        /// Items of a chunk.
        chunk: usize,
        /// The largest number of items of which each part but the last has a multiple.
        common: usize,
    },
    /// An `auto` chunk finds no size for the parts of an argument.
    #[error(
        "the parts of `{buffer}` begin at the items {borders:?}, and `auto` finds no chunk of which all but the last have whole ones\n  help: give the size of a chunk, or divide `{buffer}` elsewhere"
    )]
    NoChunkOfParts {
        /// The argument.
        buffer: &'static str,
        /// The first items of its parts.
        borders: Vec<usize>,
    },
    /// An argument on several devices is declared in a way that has none.
    #[error("`{buffer}` is on several devices: {reason}")]
    PartShape {
        /// The argument.
        buffer: &'static str,
        /// Why that is not possible.
        reason: &'static str,
    },
    /// A run has an argument in parts, and a source or a sink.
    #[error(
        "`{buffer}` is in parts, one for each device, so that the first device has the first chunks, but sources and sinks have chunks in their order\n  help: use memory in place of the source or the sink"
    )]
    PartsStreamed {
        /// The argument.
        buffer: &'static str,
    },
    /// An argument is in the memory of one device, but the run has several.
    #[error(
        "`{buffer}` is in the memory of {its}, but the run has {devices} devices\n  help: chunks go to all of them: take `{buffer}` from the host, {}or run on that device alone",
        of_several.map_or(String::new(), |of_several| format!("use a `{of_several}` in place of the `DeviceBuf`, "))
    )]
    OnOneDevice {
        /// The argument.
        buffer: &'static str,
        /// Its device.
        its: String,
        /// The number of devices.
        devices: usize,
        /// The type that it has on several devices, if there is one.
        of_several: Option<&'static str>,
    },
    /// Each device of a run would carry data of its own.
    #[error(
        "`{carry}` is carried from chunk to chunk, but chunks go to {devices} devices\n  help: say how their results become one: `carry {carry}: … = start combine function`"
    )]
    CarriedBySeveral {
        /// The argument.
        carry: &'static str,
        /// The number of devices.
        devices: usize,
    },
    /// The pipeline's ring was left to the device by an earlier failure.
    #[error("this pipeline is poisoned: an earlier run failed and the device may still access its ring")]
    PipelinePoisoned,
    /// An operation of a chunk was not enqueued, because an expression in the pipeline left it early.
    #[error("operations were skipped: an expression left the pipeline's body early")]
    Skipped,
    /// Two operations access the same memory, one of them writes it, and nothing orders them. The simulated
    /// device finds such races. A pipeline has none: its events are proved to order its operations.
    ///
    /// The error's own place is that of the later operation.
    #[error(
        "a race: {} memory that {}, and nothing orders them{}{help}",
        later.named(),
        earlier.named(),
        earlier.located("the earlier one")
    )]
    Race {
        /// The operation that was enqueued first.
        earlier: Box<Touch>,
        /// The operation that was enqueued second. It is not carried out.
        later: Box<Touch>,
        /// How to order the two, on a line of its own; empty in a pipeline and in a graph.
        help: &'static str,
    },
    /// Memory was freed while operations still used it: the host has not waited for them. The simulated
    /// device finds this and does not free the memory.
    #[error("memory is freed while it is in use{}", users(operations))]
    MemoryInUse {
        /// The operations that use the memory: the last that writes it, and those that read it since.
        operations: Vec<Place>,
    },
    /// The two sides of a copy have different lengths.
    #[error("the copy's source has {}, but its destination has {to}", counted(*from, "element"))]
    CopyLength {
        /// Elements of the source.
        from: usize,
        /// Elements of the destination.
        to: usize,
    },
    /// A copy of rows goes beyond its source or destination.
    #[error(
        "a copy of {} of {}, {pitch} apart, does not fit its {side}, which has {}",
        counted(*height, "row"),
        counted(*width, "element"),
        counted(*len, "element")
    )]
    Rectangle {
        /// `source` or `destination`.
        side: &'static str,
        /// Elements of a row.
        width: usize,
        /// The number of rows.
        height: usize,
        /// Elements from the beginning of one row to the beginning of the next one, at least the width.
        pitch: usize,
        /// Elements of the source or the destination.
        len: usize,
    },
    /// A buffer, an event, a graph or a kernel belongs to another device than the stream.
    #[error("`{what}` belongs to {its}, but the stream to {own}")]
    StreamOfOtherDevice {
        /// `DeviceBuf`, or the kernel's name.
        what: String,
        /// Its device, such as `` `NVIDIA H200` (`cuda:1`) ``.
        its: String,
        /// The stream's device.
        own: String,
    },
    /// The time between events of two devices was asked for.
    #[error(
        "the events belong to {one} and to {other}: times of two devices cannot be compared\n  help: record both on streams of one device, or take the times on the host"
    )]
    EventsOfTwoDevices {
        /// The device of the first event, such as `` `NVIDIA H200` (`cuda:1`) ``.
        one: String,
        /// That of the later one.
        other: String,
    },
    /// What is copied from one GPU to another does not arrive as it was.
    #[error(
        "copies between {one} and {other} arrive changed, and so do those through the host's memory\nhelp: NVIDIA's `p2pBandwidthLatencyTest` tests the machine; an IOMMU that is on can be the cause"
    )]
    PeerCopies {
        /// One device, such as `` `NVIDIA H200` (`cuda:0`) ``.
        one: String,
        /// The other.
        other: String,
    },
    /// A [per-thread stream](crate::streams::Stream::per_thread) was used by another thread.
    #[error("a per-thread stream cannot be used by another thread")]
    StreamOfAnotherThread,
    /// Memory that a run has handed to a routine was given where a part of a `DeviceBuf` is needed. That
    /// memory belongs to the run.
    #[error("a run has this memory until it is over: no other run, copy or stream by hand may use it")]
    OfARun,
    /// A kernel that takes variables of its module was launched on a stream.
    #[error("kernel `{kernel}` takes variables of its module: it can be launched by a pipeline only")]
    SymbolsByHand {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// Something cannot be done while a stream captures a graph.
    #[error("a stream cannot be {what} while it captures a graph")]
    Capturing {
        /// What was asked of the stream, such as `waited for`.
        what: &'static str,
    },
    /// An event that was recorded in a graph was used outside of it.
    #[error(
        "an event that was recorded while a graph was captured cannot be {what}: it is a place in that graph\n  help: record it again after the capture"
    )]
    EventOfAGraph {
        /// What was asked of the event, such as `waited for`.
        what: &'static str,
    },
    /// An operation cannot be part of a graph.
    #[error("{operation} cannot be part of a graph")]
    NotInGraph {
        /// The operation.
        operation: &'static str,
    },
    /// A graph uses page-locked memory that was not lent to its launch.
    #[error(
        "the graph's `{operation}` {} a `PinnedBuf` that is {}\n  it was captured at {site}\n  help: `graph.launch_with(&stream, {})`",
        if *writes { "writes" } else { "reads" },
        if *is_lent { "lent to this launch with `&`" } else { "not lent to this launch" },
        loans(all)
    )]
    NotLent {
        /// The operation, such as `upload`.
        operation: &'static str,
        /// The place in the user's program.
        site: Site,
        /// Whether it must be lent to be written.
        writes: bool,
        /// Whether it was lent to be read.
        is_lent: bool,
        /// For each buffer that the graph uses, whether it must be lent to be written.
        all: Vec<bool>,
    },
    /// One of two events was made without timing.
    #[error("an event tells no time: make it with `Event::with_timing`")]
    NoTiming,
    /// A time was asked for from or to an event that was never recorded.
    #[error("an event was never recorded")]
    NeverRecorded,
    /// A time was asked for from or to an event that is not complete.
    #[error(
        "an event is not complete yet: no time can be told\n  help: wait for it before, `event.synchronize()?`"
    )]
    NotComplete,
    /// A stream did not get to a callback, because something before it has failed.
    #[error("the stream did not get here: something before it has failed")]
    NotReached,
    /// A stream or memory of another library was given to a device that is no GPU.
    #[error("other libraries' streams and memory are a GPU's, but this device is none")]
    NotAGpu,
    /// Memory of another library cannot be a buffer.
    #[error(
        "{} of {} cannot be at {address:#x}: it is not aligned for that, or that goes beyond memory",
        counted(*len, "element"),
        counted(*element, "byte")
    )]
    Address {
        /// The address of the first element.
        address: u64,
        /// The number of elements.
        len: usize,
        /// Bytes of an element.
        element: usize,
    },
    /// A run, or a copy that is waited for, holds this memory at the moment.
    #[error("a run has this memory: it can be used by streams again when the run is over")]
    HeldByRun,
    /// The run was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
    /// The process was forked from one that had opened a device. The device stays with that process. This
    /// process can use no device, and nothing that was begun before the fork. A fork before the first device
    /// is opened has no such effect.
    #[error(
        "this process was forked after a device was opened, and can use none: fork first, or start another program"
    )]
    Forked,
    /// A job's result was taken already.
    #[error("the job's result was given already")]
    JobTaken,
    /// Something was pushed to an input that the caller had ended.
    #[error("the input was ended: nothing more can be pushed to it")]
    InputEnded,
    /// Something was pushed to a session, or pulled from one, whose run has ended or was never begun.
    #[error("the session is over: its run has ended, or was never begun")]
    SessionOver,
    /// A session's input was flushed in the middle of an item.
    #[error("`{host}` cannot be flushed: its last item has {elements} of {per_item} elements")]
    PartOfItem {
        /// The argument.
        host: &'static str,
        /// Elements of the last item that are there.
        elements: usize,
        /// Elements of an item.
        per_item: usize,
    },
    /// A buffer cannot become a `Vec` again.
    #[error("this `PinnedBuf` {why}")]
    NotAVec {
        /// The reason, such as `was not made by \`register\``.
        why: &'static str,
    },
    /// A pipeline does not have an operation of this name.
    #[error(
        "pipeline `{pipeline}` has no stage, operation, kernel or function `{name}`{}",
        closest(known, name)
    )]
    NoSuchOperation {
        /// The pipeline.
        pipeline: &'static str,
        /// The name that was looked for.
        name: String,
        /// The names that exist.
        known: Vec<&'static str>,
    },
    /// A [`Fault`](crate::sim::Fault) was to be injected into a device that is not simulated.
    #[error("faults can be injected into simulated devices only (`Device::simulated`), but this is none")]
    CannotInject,
    /// A program failed in one of the orders in which it was [explored](crate::explore).
    #[error(
        "schedule {number} fails: {cause}\n  help: `explore::replay({seed:#x}, …)` runs the same schedule again"
    )]
    Schedule {
        /// The schedule's number, from 0.
        number: u64,
        /// The schedule's seed, which alone gives the same order again.
        seed: u64,
        /// The failure of that schedule.
        cause: Box<Detail>,
    },
    /// A program panicked while it was [explored](crate::explore).
    #[error("it panicked: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// Something happened between the ranks of a world, or kept them from meeting.
    #[error("{0}")]
    Ranks(RanksDetail),
    /// The driver reported an error.
    #[error("{0}")]
    Driver(Box<DriverError>),
}

impl Detail {
    /// The failure itself, if this is the failure of an explored program in one of its schedules; otherwise
    /// this error.
    pub(super) fn innermost(&self) -> &Self {
        match self {
            Self::Schedule { cause, .. } => cause.innermost(),
            _ => self,
        }
    }

    /// The error of a source or a sink, if this is one.
    pub(crate) fn io_error(&self) -> Option<&io::Error> {
        match self.innermost() {
            Self::Source { error, .. } | Self::Sink { error, .. } => Some(error),
            _ => None,
        }
    }

    /// The driver's error, if there is one.
    pub(crate) fn driver_error(&self) -> Option<&DriverError> {
        match self.innermost() {
            Self::Driver(error) => Some(error),
            Self::Routine { device, .. } | Self::Library { device, .. } => device.as_deref(),
            _ => None,
        }
    }

    /// Whether a routine has failed. What the device reported beside it is not its cause.
    pub(crate) fn is_of_a_routine(&self) -> bool {
        matches!(self.innermost(), Self::Routine { .. } | Self::Library { .. })
    }

    /// The error of a library's crate, if this is one.
    pub(super) fn library_error(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        match self.innermost() {
            Self::Library { error, .. } => Some(error.as_ref()),
            _ => None,
        }
    }
}
