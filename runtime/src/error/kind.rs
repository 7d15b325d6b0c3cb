//! [`ErrorKind`]: everything that can happen.

use std::borrow::Cow;

/// What happened.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// CUDA's driver library is not there.
    #[error(
        "no CUDA driver: none of its libraries could be loaded\n  looked for {}\n  help: THALWEG_DEVICE=sim runs on the simulated device",
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
    #[error("there is no CUDA device {index}: this machine has {count}")]
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
    /// A kernel that its source does not have.
    #[error("`{file}` has no kernel `{kernel}`")]
    NoSuchKernel {
        /// The kernel's name.
        kernel: &'static str,
        /// The kernel source.
        file: &'static str,
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
    #[error("`{host}` has {items} items, but `{other}` has {other_items}")]
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
    #[error("`{host}` has {len} elements, which is no multiple of {per_item} elements an item")]
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
    #[error("`{host}` has {len} elements, but {chunks} chunks with {per_chunk} each need {}", chunks.saturating_mul(*per_chunk))]
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
    #[error("`{from}` has {from_per_item} elements an item, but `{to}` has {to_per_item}")]
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
    #[error("`{carry}` has {len} elements, but {declared} are declared")]
    CarryLength {
        /// The argument.
        carry: &'static str,
        /// Its elements.
        len: usize,
        /// The elements that its declaration says.
        declared: usize,
    },
    /// A slice that is not as long as the `DeviceBuf` that it is copied from or to.
    #[error("the `DeviceBuf` has {len} elements, but the slice has {slice}")]
    DeviceBufLength {
        /// The buffer's elements.
        len: usize,
        /// The slice's elements.
        slice: usize,
    },
    /// The ring does not fit the pipeline's budget.
    #[error("the ring needs {needed} bytes of device memory, but its budget is {budget}")]
    Budget {
        /// Bytes it needs.
        needed: usize,
        /// Bytes it may take.
        budget: usize,
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
    #[error("kernel `{kernel}` cannot be launched: {what} is {value}, but the limit is {limit}")]
    LaunchLimit {
        /// The kernel's name.
        kernel: &'static str,
        /// What is too large, `threads per block`.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The most (or, for 0, the least) there may be.
        limit: u64,
    },
    /// A launch that breaks the kernel's `#[requires(…)]`.
    #[error("kernel `{kernel}` requires `{condition}`")]
    Requires {
        /// The kernel's name.
        kernel: &'static str,
        /// The condition as it is written.
        condition: &'static str,
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
    /// A pinned buffer of another device.
    #[error("`{host}` was allocated for another device")]
    OtherDevice {
        /// The argument.
        host: &'static str,
    },
    /// The pipeline's ring was left to the device by an earlier failure.
    #[error("this pipeline is poisoned: an earlier run failed and the device may still access its ring")]
    PipelinePoisoned,
    /// An operation of a chunk was not enqueued, because an expression in the pipeline left it early.
    #[error("operations were skipped: an expression left the pipeline's body early")]
    Skipped,
    /// The driver reported an error.
    #[error("{0}")]
    Driver(DriverError),
}

/// An error code of CUDA's driver, or the same code from the simulated device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{call}` failed: {name} ({code}): {description}")]
#[non_exhaustive]
pub struct DriverError {
    /// The driver's function, `cuMemcpyHtoDAsync`.
    pub call: &'static str,
    /// CUDA's number, 2 for `CUDA_ERROR_OUT_OF_MEMORY`.
    pub code: u32,
    /// CUDA's name for it.
    pub name: Cow<'static, str>,
    /// CUDA's words for it.
    pub description: Cow<'static, str>,
    /// The operation and chunk that failed, where the device can tell (the simulated device can).
    pub(crate) tag: Option<(u32, u64)>,
    /// The kernel whose host body panicked, and the panic's message.
    pub(crate) host_body: Option<String>,
}

impl DriverError {
    pub(crate) fn new(
        call: &'static str,
        code: u32,
        name: impl Into<Cow<'static, str>>,
        description: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { call, code, name: name.into(), description: description.into(), tag: None, host_body: None }
    }

    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.code == 2
    }

    /// Whether some earlier operation may have caused it: CUDA reports what goes wrong on the device with whatever call
    /// comes next.
    pub(crate) fn is_asynchronous(&self) -> bool {
        // Illegal address, launch timeout, assert, hardware stack, illegal instruction, misaligned address, invalid
        // address space, invalid PC, launch failed; ECC and NVLink errors.
        matches!(self.code, 700 | 702 | 710 | 714..=719 | 214 | 220)
    }
}

/// Names, a few a line.
fn list(names: &[String]) -> String {
    let lines: Vec<_> = names.chunks(3).map(|names| names.join(", ")).collect();
    lines.join(",\n    ")
}
