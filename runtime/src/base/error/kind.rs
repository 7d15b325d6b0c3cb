//! [`ErrorKind`]: everything that can happen.

use std::io;
use std::sync::Arc;

use super::text::{
    OWN_LENGTH, WITHOUT_A_GPU, after_newline, cause, closest, counted, extent, from_first_on, list, list_of,
    meant, of, of_them_shared, other_way_round, smaller_ring, threads, to_be_in_memory, to_write_all, with,
};
use super::touch::{Touch, users};
use super::{DriverError, Place, Site};

/// What happened.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// CUDA's driver library is not there.
    #[error(
        "no CUDA driver: none of its libraries could be loaded\n  looked for {}{WITHOUT_A_GPU}",
        list(looked_for)
    )]
    NoCudaDriver {
        /// Library names, in the order they were tried.
        looked_for: Vec<String>,
    },
    /// The CUDA driver is there but lacks a function that is needed.
    #[error("the CUDA driver is too old: it has no `{symbol}`")]
    CudaDriverTooOld {
        /// The missing function.
        symbol: &'static str,
    },
    /// A GPU index that does not exist.
    #[error("there is no CUDA device {index}: this machine has {count}{}", if *count == 0 { WITHOUT_A_GPU } else { "" })]
    NoSuchDevice {
        /// The index asked for, from 0.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// `THALWEG_DEVICE` holds something else than a device.
    #[error("`THALWEG_DEVICE={value}` names no device: write `sim`, or `cuda:0` for the first GPU")]
    UnknownDevice {
        /// The variable's value.
        value: String,
    },
    /// A file is no calibration of a device, or cannot be read or written.
    #[error("`{path}` cannot be used as a calibration: {message}")]
    Calibration {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// Users other than this process's can write into the folder of compiled kernels, and so decide what a
    /// GPU would run.
    #[error(
        "`{folder}` cannot hold compiled kernels: {reason}\n  note: whoever writes there decides what runs on the GPU\n  help: {help}\n  help: with `THALWEG_CACHE=off` nothing is kept, and `THALWEG_CACHE=folder` names another one"
    )]
    CacheFolder {
        /// The folder, links resolved.
        folder: String,
        /// Why.
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
        "no kernel to compile: none is registered that has a `.cu` file\n  \
         note: kernels are registered in tests only, those of the crate that is being tested\n  \
         help: call `compile_kernels` in a unit test of the crate that has the `#[kernels]`:\n    \
         in its `#[cfg(test)] mod tests`, and run `cargo test`"
    )]
    NoKernels,
    /// A `.cu` file does not compile.
    #[error("`{file}` does not compile for {architecture}:\n{}", log.trim_end())]
    Compile {
        /// The kernel source.
        file: &'static str,
        /// `sm_90`, say.
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
        /// What was asked for.
        architecture: String,
        /// Those that NVRTC compiles for, from the oldest: `sm_75`, say.
        supported: Vec<String>,
    },
    /// A kernel that its source does not have.
    #[error("`{file}` has no kernel `{kernel}`")]
    NoSuchKernel {
        /// The kernel's name.
        kernel: &'static str,
        /// The kernel source.
        file: &'static str,
    },
    /// A kernel with another number of parameters than its declaration.
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
    /// A kernel of which a parameter has another size than in its declaration.
    #[error(
        "parameter {index} of kernel `{kernel}` is declared with {}, but in `{file}` it has {found}",
        counted(*declared, "byte")
    )]
    ParameterSize {
        /// The kernel's name.
        kernel: &'static str,
        /// The kernel source.
        file: &'static str,
        /// From 1, without symbols.
        index: usize,
        /// Bytes of the Rust type.
        declared: usize,
        /// Bytes in the compiled kernel.
        found: usize,
    },
    /// A PTX, cubin or fatbin file that is none, is cut off, or is refused by the driver.
    #[error("`{file}` cannot be loaded: {reason}{}", after_newline(log))]
    InvalidImage {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        reason: String,
        /// The driver's own text, if it has said anything.
        log: String,
    },
    /// A PTX, cubin or fatbin file for other devices than this.
    #[error(
        "`{file}` cannot be loaded: it holds {holds}, but `{device}` is sm_{}{}{}",
        compute_capability.0,
        compute_capability.1,
        after_newline(log)
    )]
    NoCodeForDevice {
        /// The file.
        file: &'static str,
        /// `code for sm_80`, say.
        holds: String,
        /// The device's name.
        device: String,
        /// The device's compute capability, `(9, 0)` for `sm_90`.
        compute_capability: (u32, u32),
        /// The driver's own text, if it has said anything.
        log: String,
    },
    /// PTX of a newer version than the driver knows.
    #[error(
        "`{file}` cannot be loaded: it is PTX {version}, which is newer than this driver (for CUDA {}.{}) can compile\n  help: update the driver, or have the file made by an older compiler",
        driver.0,
        driver.1
    )]
    PtxTooNew {
        /// The file.
        file: &'static str,
        /// What it says of itself, `8.8`.
        version: String,
        /// The CUDA release that the driver is for.
        driver: (u32, u32),
    },
    /// An option for NVRTC that this crate cannot work with.
    #[error("`{file}` cannot be compiled with `{option}`: {reason}")]
    CompileOption {
        /// The kernel source.
        file: &'static str,
        /// The option as it is written.
        option: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// A kernel that the simulated device cannot run.
    #[error(
        "kernel `{kernel}` has no host body for the simulated device: add `#[host(…)]` to its declaration"
    )]
    NoHostBody {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// Host arguments with different numbers of items.
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
    /// A host argument whose length is no multiple of its items' size.
    #[error("`{host}` has {}, which is no multiple of {per_item} elements an item", counted(*len, "element"))]
    Shape {
        /// The argument.
        host: &'static str,
        /// Its elements.
        len: usize,
        /// Elements in one item.
        per_item: usize,
    },
    /// A shape of zero elements an item, or one too large to address.
    #[error("`{buffer}` has {per_item} elements an item: at least 1 and a size that fits memory are needed")]
    ItemSize {
        /// The declaration.
        buffer: &'static str,
        /// Elements in one item.
        per_item: usize,
    },
    /// A halo that does not fit memory.
    #[error("`{buffer}` has a halo of {halo} items, which is more than fits memory")]
    HaloSize {
        /// The declaration.
        buffer: &'static str,
        /// Items on each side.
        halo: usize,
    },
    /// A result that is counted by chunk, and has not enough elements for them.
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
        /// Elements for each of them.
        per_chunk: usize,
    },
    /// Two sides of a copy with different shapes.
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
    /// What `run` gets for a `carry` has another length than is declared.
    #[error("`{carry}` has {}, but {declared} are declared", counted(*len, "element"))]
    CarryLength {
        /// The argument.
        carry: &'static str,
        /// Its elements.
        len: usize,
        /// The elements that its declaration says.
        declared: usize,
    },
    /// A slice that is not as long as the `DeviceBuf` that it is copied from or to.
    #[error("the `DeviceBuf` has {}, but the slice has {slice}", counted(*len, "element"))]
    DeviceBufLength {
        /// The buffer's elements.
        len: usize,
        /// The slice's elements.
        slice: usize,
    },
    /// A part of a buffer that is not within it.
    #[error("{start}..{end} is no range of a buffer of {}", counted(*len, "element"))]
    Range {
        /// The first element.
        start: usize,
        /// After the last one.
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
        /// Bytes it needs.
        needed: usize,
        /// Those of them that are the whole run's: what is `resident` or `carry`.
        shared: usize,
        /// Bytes it may take.
        budget: usize,
        /// Its slots: the depth, or the chunks of a run that has fewer.
        slots: usize,
        /// Items in a chunk.
        chunk: usize,
    },
    /// A chunk of no items.
    #[error("a chunk must have at least 1 item")]
    ChunkZero,
    /// A ring of no slots.
    #[error("the depth must be at least 1 slot")]
    DepthZero,
    /// A ring of more slots than can be numbered.
    #[error("a depth of {depth} slots is more than the {limit} that a ring may have")]
    DepthTooLarge {
        /// What was asked for.
        depth: usize,
        /// The most there may be.
        limit: usize,
    },
    /// Device memory does not suffice.
    #[error("device memory is exhausted: {what} needs {requested} bytes, {free} are free")]
    OutOfDeviceMemory {
        /// What it was for.
        what: String,
        /// Bytes asked for.
        requested: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Page-locked host memory does not suffice.
    #[error("page-locked host memory is exhausted: {what} needs {requested} bytes")]
    OutOfPinnedMemory {
        /// What it was for.
        what: String,
        /// Bytes asked for.
        requested: u64,
    },
    /// A launch outside the device's limits.
    #[error(
        "kernel `{kernel}` cannot be launched: {what} is {value}, but {}{}",
        if *value < *limit { format!("it must be at least {limit}") } else { format!("the limit is {limit}") },
        other_way_round(swapped)
    )]
    LaunchLimit {
        /// The kernel's name.
        kernel: &'static str,
        /// What is too large, `threads per block`.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The most (or, for 0, the least) there may be.
        limit: u64,
        /// The grid and the block, if they would fit the other way round.
        swapped: Option<[[u32; 3]; 2]>,
    },
    /// A launch with more shared memory than the device has for a block.
    #[error(
        "kernel `{kernel}` cannot be launched: it needs {} bytes of shared memory ({dynamic} of the launch and {fixed} that the kernel declares), but the limit is {limit}",
        u64::from(*dynamic) + u64::from(*fixed)
    )]
    SharedMemory {
        /// The kernel's name.
        kernel: &'static str,
        /// What the launch asks for (dynamic shared memory), in bytes.
        dynamic: u32,
        /// What the source declares itself (static shared memory), in bytes.
        fixed: u32,
        /// The most that a block may have, in bytes.
        limit: u32,
    },
    /// A launch whose blocks do not fill their clusters.
    #[error(
        "kernel `{kernel}` cannot be launched: a grid of {} blocks is no multiple of clusters of {}",
        extent(grid),
        extent(cluster)
    )]
    ClusterGrid {
        /// The kernel's name.
        kernel: &'static str,
        /// The launch's grid, in blocks, as `[x, y, z]`.
        grid: [u32; 3],
        /// The kernel's clusters, in blocks.
        cluster: [u32; 3],
    },
    /// A kernel whose source fixes other clusters than its declaration.
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
        /// What `#[cluster(…)]` says, in blocks, as `[x, y, z]`.
        declared: [u32; 3],
        /// What the source says.
        found: [u32; 3],
    },
    /// A kernel that this device cannot run as it is declared.
    #[error(
        "kernel `{kernel}` needs {need}, which `{device}` (compute capability {}.{}) does not have",
        compute_capability.0,
        compute_capability.1
    )]
    DeviceLacks {
        /// The kernel's name.
        kernel: &'static str,
        /// `clusters of blocks`, say.
        need: &'static str,
        /// The device's name.
        device: String,
        /// The device's compute capability, `(8, 0)` for an A100.
        compute_capability: (u32, u32),
    },
    /// A variable that a kernel's source does not have.
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
    /// A variable that is smaller than what a launch gives for it.
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
    /// A variable for which a launch gives something that may change within a run.
    #[error(
        "`{symbol}` of kernel `{kernel}` is copied once a run: a launch can give a `resident` for it only"
    )]
    SymbolNotResident {
        /// The kernel's name.
        kernel: &'static str,
        /// The variable's name.
        symbol: &'static str,
    },
    /// A variable for which launches of one run give different buffers.
    #[error(
        "`{symbol}` of kernel `{kernel}` is copied once a run, and holds another buffer than this launch gives for it"
    )]
    SymbolChanged {
        /// The kernel's name.
        kernel: &'static str,
        /// The variable's name.
        symbol: &'static str,
    },
    /// A launch that breaks the kernel's `#[requires(…)]`.
    #[error("kernel `{kernel}` requires `{condition}`{}", with(values))]
    Requires {
        /// The kernel's name.
        kernel: &'static str,
        /// The condition as it is written.
        condition: &'static str,
        /// The numbers and the slices' lengths in it: `("n", "1001")`, `("x.len()", "1000")`.
        values: Vec<(&'static str, String)>,
    },
    /// One buffer passed to a kernel twice, of which at least once to write.
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
        to_write_all(*elements, *enough, threads(grid, block), block)
    )]
    Unwritten {
        /// The kernel's name.
        kernel: &'static str,
        /// The name of its parameter.
        parameter: &'static str,
        /// The elements that the launch gives for it.
        elements: usize,
        /// How many of them were not written.
        unwritten: usize,
        /// The index of the first of these.
        first: usize,
        /// The launch's grid, in blocks, as `[x, y, z]`.
        grid: [u32; 3],
        /// The launch's blocks, in threads.
        block: [u32; 3],
        /// The blocks along x that would have done, if more of them would have.
        enough: Option<u32>,
    },
    /// A `host` function panicked or returned an error.
    #[error("host function `{function}` failed: {message}")]
    HostFunction {
        /// Its path as it is written.
        function: &'static str,
        /// The panic's message, or the error's.
        message: String,
    },
    /// A callback panicked or returned an error.
    #[error("a callback failed: {message}")]
    Callback {
        /// The panic's message, or the error's.
        message: String,
    },
    /// A routine that a pipeline calls reported an error.
    #[error("`{routine}` failed: {status}")]
    Routine {
        /// The library's function, `cublasSaxpy`.
        routine: String,
        /// What it returned, by its name where it has one.
        status: String,
    },
    /// A routine that is called on a simulated device, but simulates nothing there, or the other way around.
    #[error("a routine works on the simulated device only, but this is a GPU")]
    NotSimulated,
    /// What a routine keeps ([`Enqueue::state`](crate::Enqueue::state)) is in use by a routine that has called this one, or
    /// was not given back by one that is over.
    #[error(
        "`{state}`, which a routine keeps, is not there: a routine that called this one has it, or an earlier one has forgotten it (`mem::forget`)"
    )]
    StateInUse {
        /// The type of what it keeps.
        state: &'static str,
    },
    /// One of CUDA's libraries is not there.
    #[error(
        "no {library}: none of its libraries could be loaded\n  looked for {}\n  help: install the CUDA toolkit, or PyPI's `{package}` on the library path",
        list(looked_for)
    )]
    NoLibrary {
        /// `cuBLAS`.
        library: &'static str,
        /// PyPI's package that has it.
        package: &'static str,
        /// File names, in the order they were tried.
        looked_for: Vec<String>,
    },
    /// One of CUDA's libraries is there but lacks a function that is needed.
    #[error("this {library} is too old: it has no `{symbol}`")]
    LibraryTooOld {
        /// `cuBLAS`.
        library: &'static str,
        /// The missing function.
        symbol: &'static str,
    },
    /// A function of one of CUDA's libraries failed.
    #[error("`{function}` of {library} failed: {status} ({code}){}", cause(device))]
    Library {
        /// `cuBLAS`.
        library: &'static str,
        /// The function, `cublasGemmEx`.
        function: &'static str,
        /// The library's name for what it returned, `CUBLAS_STATUS_EXECUTION_FAILED`.
        status: &'static str,
        /// The library's number for it.
        code: u32,
        /// What the device reported when it was waited for at the run's end, if it failed too.
        device: Option<Box<DriverError>>,
    },
    /// A matrix, vector or tensor whose size is not the one that a routine's dimensions say.
    #[error(
        "`{routine}`: `{argument}` is {dimensions}, which takes {}, but it has {len}{}",
        counted(*needed, "element"),
        of(buffer)
    )]
    Dimensions {
        /// `gemm`.
        routine: &'static str,
        /// The argument, as the routine calls it.
        argument: &'static str,
        /// The pipeline's buffer that was given for it, or part of which was.
        buffer: Option<&'static str>,
        /// `m x k = 3 x 4`.
        dimensions: String,
        /// The elements that it must have; at least these, where rows or matrices stand apart.
        needed: usize,
        /// The elements that it has.
        len: usize,
    },
    /// A dimension that a routine cannot take.
    #[error("`{routine}`: {dimension} is {value}, but it must be {allowed}")]
    Dimension {
        /// `gemm`.
        routine: &'static str,
        /// `m`, or `the leading dimension of a`.
        dimension: &'static str,
        /// Its value.
        value: usize,
        /// `at least 4`.
        allowed: String,
    },
    /// A source has returned an error, or has panicked. The place is that of the first copy from it, and the chunk that it was asked
    /// for.
    #[error("source `{host}` failed: {error}")]
    Source {
        /// The argument.
        host: &'static str,
        /// Its own, or one that says how it panicked.
        error: Arc<io::Error>,
    },
    /// A source has ended before there were as many items as another argument has.
    #[error("source `{host}` ended after {}, but `{other}` has {wanted}{OWN_LENGTH}", counted(*items, "item"))]
    SourceEnded {
        /// The argument.
        host: &'static str,
        /// Its items.
        items: usize,
        /// The argument whose length it is that counts.
        other: &'static str,
        /// Its items.
        wanted: usize,
    },
    /// Of several sources one has ended before another.
    #[error(
        "source `{host}` ended after {}, but `{other}` has gone on to {given}{OWN_LENGTH}",
        counted(*items, "item")
    )]
    SourcesDiffer {
        /// The argument that has ended first.
        host: &'static str,
        /// Its items.
        items: usize,
        /// Another one.
        other: &'static str,
        /// The items that it has given so far. There may be more.
        given: usize,
    },
    /// A sink has returned an error, or has panicked. The place is that of the copy to it, and the chunk that it was given; without a
    /// chunk it had taken all and failed at the end.
    #[error("sink `{host}` failed: {error}")]
    Sink {
        /// The argument.
        host: &'static str,
        /// Its own, or one that says how it panicked.
        error: Arc<io::Error>,
    },
    /// An argument that cannot be a source or a sink.
    #[error("`{host}` cannot be streamed: {reason}{}", to_be_in_memory(reason))]
    NotStreamed {
        /// The argument.
        host: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// Nothing says how many items a run has, or a prediction: a source says so by ending, which only a run finds out.
    #[error(
        "nothing says how many items there are: `{host}` is streamed, and no other argument has a length"
    )]
    UnknownLength {
        /// The first source or sink.
        host: &'static str,
    },
    /// A thread for a source or a sink cannot be started.
    #[error("no thread for `{host}` can be started: {message}")]
    NoStreamThread {
        /// The argument.
        host: &'static str,
        /// The operating system's words.
        message: String,
    },
    /// A thread for callbacks cannot be started.
    #[error("no thread for callbacks can be started: {message}")]
    NoThread {
        /// The operating system's words.
        message: String,
    },
    /// A buffer that an earlier failure left to the device.
    #[error("`{host}` is poisoned: an earlier run failed and the device may still access it")]
    Poisoned {
        /// The argument.
        host: &'static str,
    },
    /// A buffer, or a loaded kernel, of another device than the pipeline's. Page-locked memory that is only
    /// copied may belong to another GPU, or to another simulated device.
    #[error("`{host}` belongs to {its}, but the pipeline to {own}")]
    OtherDevice {
        /// The argument, or the kernel.
        host: &'static str,
        /// Its device, `` `NVIDIA H200` (`cuda:1`) ``.
        its: String,
        /// The pipeline's device.
        own: String,
    },
    /// The pipeline's ring was left to the device by an earlier failure.
    #[error("this pipeline is poisoned: an earlier run failed and the device may still access its ring")]
    PipelinePoisoned,
    /// An operation of a chunk was not enqueued, because an expression in the pipeline left it early.
    #[error("operations were skipped: an expression left the pipeline's body early")]
    Skipped,
    /// Two operations access the same memory, one of them writes it, and nothing orders them. The simulated device finds that; a
    /// pipeline's events are proved to leave no such two.
    ///
    /// The error's own place is the later one's.
    #[error(
        "a race: {} memory that {}, and nothing orders them{}",
        later.named(),
        earlier.named(),
        earlier.located("the earlier one")
    )]
    Race {
        /// The one that was enqueued first.
        earlier: Box<Touch>,
        /// The one that was enqueued second, and is not carried out.
        later: Box<Touch>,
    },
    /// Memory was freed that operations still use: the host has not waited for them. The simulated device finds that, and does
    /// not free it.
    #[error("memory is freed while it is in use{}", users(operations))]
    MemoryInUse {
        /// Those that use it: the last that writes it, and those that read it since.
        operations: Vec<Place>,
    },
    /// Two sides of a copy with different lengths.
    #[error("the copy's source has {}, but its destination {to}", counted(*from, "element"))]
    CopyLength {
        /// Elements of the source.
        from: usize,
        /// Elements of the destination.
        to: usize,
    },
    /// A copy of rows that are not all there.
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
        /// Rows.
        height: usize,
        /// Elements from one row's beginning to the next one's: at least the width.
        pitch: usize,
        /// Elements of the source or the destination.
        len: usize,
    },
    /// A buffer, an event, a graph or a kernel of another device than the stream's.
    #[error("`{what}` belongs to {its}, but the stream to {own}")]
    StreamOfOtherDevice {
        /// `DeviceBuf`, or the kernel's name.
        what: String,
        /// Its device, `` `NVIDIA H200` (`cuda:1`) ``.
        its: String,
        /// The stream's device.
        own: String,
    },
    /// A [per-thread stream](crate::Stream::per_thread) of another thread.
    #[error("a per-thread stream cannot be used by another thread")]
    StreamOfAnotherThread,
    /// Memory that is no buffer's, or no longer, of the stream's device.
    #[error("this memory is of no `DeviceBuf` or `PinnedBuf` of the stream's device")]
    UnknownMemory,
    /// Memory that a run has handed to a routine was given where a part of a `DeviceBuf` is needed. It
    /// belongs to the run.
    #[error("this memory is a run's own, and no part of a `DeviceBuf`")]
    OfARun,
    /// A kernel that is given variables of its module is launched on a stream.
    #[error("kernel `{kernel}` takes variables of its module: it can be launched by a pipeline only")]
    SymbolsByHand {
        /// The kernel's name.
        kernel: &'static str,
    },
    /// What cannot be done while a stream captures a graph.
    #[error("a stream cannot be {what} while it captures a graph")]
    Capturing {
        /// `waited for`, say.
        what: &'static str,
    },
    /// An operation that cannot be part of a graph.
    #[error("{operation} cannot be part of a graph")]
    NotInGraph {
        /// The operation.
        operation: &'static str,
    },
    /// Page-locked memory that a graph uses and that its launch was not given.
    #[error(
        "the graph's `{operation}` {} a `PinnedBuf` that is not lent to this launch\n  it was captured at {site}\n  help: `graph.launch_with(&stream, {})`",
        if *writes { "writes" } else { "reads" },
        if *writes { "&mut buffer" } else { "&buffer" }
    )]
    NotLent {
        /// The operation, `upload`.
        operation: &'static str,
        /// Where it is in the user's program.
        site: Site,
        /// Whether it must be lent to be written.
        writes: bool,
    },
    /// Two events of which one was made without timing.
    #[error("an event tells no time: make it with `Event::with_timing`")]
    NoTiming,
    /// The time from or to an event that was never recorded.
    #[error("an event was never recorded")]
    NeverRecorded,
    /// A callback whose stream did not get there, because something before it has failed.
    #[error("the stream did not get here: something before it has failed")]
    NotReached,
    /// Something of another library's on a simulated device.
    #[error("other libraries' streams and memory are a GPU's, but this device is simulated")]
    NotAGpu,
    /// Memory of another library that cannot be a buffer.
    #[error(
        "{} of {} cannot be at {address:#x}: it is not aligned for that, or that goes beyond memory",
        counted(*len, "element"),
        counted(*element, "byte")
    )]
    Address {
        /// Of the first.
        address: u64,
        /// How many.
        len: usize,
        /// Bytes of one.
        element: usize,
    },
    /// Memory that a run, or a copy that is waited for, has at this moment.
    #[error("a run has this memory: it can be used by streams again when the run is over")]
    HeldByRun,
    /// A run that was asked to end.
    #[error("the run was cancelled")]
    Cancelled,
    /// The process was forked from one that had opened a device. The device stays with that process: this one
    /// can use no device, and nothing that was begun before. A fork before the first device is opened has no
    /// such effect.
    #[error(
        "this process was forked after a device was opened, and can use none: fork first, or start another program"
    )]
    Forked,
    /// A job whose result somebody has already.
    #[error("the job's result was given already")]
    JobTaken,
    /// Something was pushed to a session, or pulled from it, that has no run any more.
    #[error("the session is over: its run has ended, or was never begun")]
    SessionOver,
    /// A session's input was flushed in the middle of an item.
    #[error("`{host}` cannot be flushed: its last item has {elements} of {per_item} elements")]
    PartOfItem {
        /// The argument.
        host: &'static str,
        /// Elements that are there.
        elements: usize,
        /// Elements an item.
        per_item: usize,
    },
    /// A buffer that cannot become a `Vec` again.
    #[error("this `PinnedBuf` {why}")]
    NotAVec {
        /// `was not made by \`register\``.
        why: &'static str,
    },
    /// An operation that a pipeline does not have.
    #[error(
        "pipeline `{pipeline}` has no stage, operation, kernel or function `{name}`{}",
        closest(known, name)
    )]
    NoSuchOperation {
        /// The pipeline.
        pipeline: &'static str,
        /// What was looked for.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// A [`Fault`](crate::Fault) for a GPU.
    #[error("faults can be injected into simulated devices only, but this is a GPU")]
    CannotInject,
    /// A program has failed in one of the orders that it was [explored](mod@crate::explore) in.
    #[error(
        "schedule {number} fails: {cause}\n  help: `explore::replay({seed:#x}, …)` runs the same schedule again"
    )]
    Schedule {
        /// The schedule, from 0.
        number: u64,
        /// Its seed, which alone gives the same order again.
        seed: u64,
        /// What has happened.
        cause: Box<ErrorKind>,
    },
    /// A program panicked while it was [explored](mod@crate::explore).
    #[error("it panicked: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
    /// The driver reported an error.
    #[error("{0}")]
    Driver(DriverError),
}

impl ErrorKind {
    /// What a source or a sink has said, where it has.
    pub(crate) fn io_error(&self) -> Option<&io::Error> {
        match self {
            Self::Source { error, .. } | Self::Sink { error, .. } => Some(error),
            Self::Schedule { cause, .. } => cause.io_error(),
            _ => None,
        }
    }

    /// Whether a source or a sink has failed.
    pub(crate) fn is_of_a_stream(&self) -> bool {
        matches!(
            self,
            Self::Source { .. } | Self::SourceEnded { .. } | Self::SourcesDiffer { .. } | Self::Sink { .. }
        )
    }

    /// What the driver has said, where it has.
    pub(crate) fn driver_error(&self) -> Option<&DriverError> {
        match self {
            Self::Driver(error) => Some(error),
            Self::Library { device, .. } => device.as_deref(),
            Self::Schedule { cause, .. } => cause.driver_error(),
            _ => None,
        }
    }
}
