//! [`ErrorKind`]: the kinds that a program can tell apart, and what each kind tells.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use super::{Detail, DriverError, Place, Touch};

/// Writes the enum, and for each kind a struct that holds what happened and displays it.
macro_rules! kinds {
    ($($(#[$text:meta])+ $kind:ident)+) => {
        /// What happened, as far as programs tell it apart. `Display` of the [`Error`](super::Error) gives
        /// the full text.
        ///
        /// Each kind has a payload whose methods tell more. Releases may add methods and kinds.
        ///
        /// ```
        /// use thalweg::{Device, Error, ErrorKind};
        ///
        /// match Device::cuda(7) {
        ///     Ok(device) => println!("{device:?}"),
        ///     Err(error) => match error.kind() {
        ///         ErrorKind::Environment(_) => println!("use another device: {error}"),
        ///         _ => return Err(error),
        ///     },
        /// }
        /// # Ok::<(), Error>(())
        /// ```
        #[derive(Debug, Clone)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$text])+ $kind($kind),)+
        }

        $(
            #[doc = concat!("What an [`ErrorKind::", stringify!($kind), "`] is about. `Display` says what happened.")]
            #[derive(Clone)]
            pub struct $kind(Detail);

            impl fmt::Display for $kind {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.0.fmt(f)
                }
            }

            impl fmt::Debug for $kind {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt::Debug::fmt(&self.0, f)
                }
            }
        )+

        impl ErrorKind {
            pub(super) fn detail(&self) -> &Detail {
                match self {
                    $(Self::$kind(this) => &this.0,)+
                }
            }

            pub(super) fn into_detail(self) -> Detail {
                match self {
                    $(Self::$kind(this) => this.0,)+
                }
            }

            pub(super) fn detail_mut(&mut self) -> &mut Detail {
                match self {
                    $(Self::$kind(this) => &mut this.0,)+
                }
            }
        }

        impl fmt::Display for ErrorKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.detail().fmt(f)
            }
        }
    };
}

kinds! {
    /// The machine lacks something, or it is set up wrongly: the driver, the device, NVRTC, a thread, an
    /// environment variable, the folder of compiled kernels or a file with a calibration. A process that was
    /// forked from one that had opened a device also gets this kind, since it can use no device.
    Environment
    /// A kernel does not compile, its file cannot be loaded, or it is not what its declaration says.
    Compile
    /// Lengths or sizes do not fit each other, or a range is not within its buffer.
    Shape
    /// A launch, a ring or a chunk exceeds a limit of the device or of the declaration.
    Limit
    /// Device memory or page-locked host memory does not suffice: for what the program asked for, or for what
    /// the driver needs of its own, such as a stream, a kernel's code or a graph.
    OutOfMemory
    /// A kernel's declaration is broken: by a launch that breaks `#[requires(…)]` or passes overlapping
    /// buffers, or by a kernel that leaves elements of an `Out<[…]>` unwritten, which the simulated device
    /// finds.
    Contract
    /// Two operations access the same memory, one of them writes it, and nothing orders them; or memory is
    /// freed while operations still use it. The simulated device and streams by hand find such races. A
    /// pipeline has none: its events are proved to order its operations. Or two threads of one kernel in Rust
    /// race, which has `unsafe` in it: the simulated device finds that.
    ///
    /// The error's own place is that of the later operation.
    Race
    /// A source has failed, or has ended before another argument did. The place is that of the first copy
    /// from the source, and the chunk is the one that the source was asked for.
    Source
    /// A sink has failed. The place is that of the copy to the sink, and the chunk is the one that the sink
    /// was given; without a chunk, the sink had taken all chunks and failed at the end.
    Sink
    /// A function of the program panicked or returned an error: a host function, a callback, a kernel's host
    /// body, or a job's work.
    Function
    /// A library is missing, its routine failed, or it refuses its arguments.
    Library
    /// The run was cancelled.
    Cancelled
    /// The other end is closed: a session's run has ended or was never begun, or a job's result was taken
    /// already.
    Closed
    /// The program asks for something impossible, such as streaming an argument that must be in memory, using
    /// a buffer of another device, capturing an operation that a graph cannot have, or reading the time of an
    /// event without timing.
    Misuse
    /// A rank is missing, has died, or does something else than the others.
    Ranks
    /// Nothing works on the device any more until the process ends, or an earlier failure has left this
    /// buffer or this pipeline to the device (it is *poisoned*).
    DeviceLost
    /// The driver reported another error.
    Driver
}

impl ErrorKind {
    pub(super) fn of(detail: Detail) -> Self {
        kind_of(&detail)(detail)
    }
}

/// The only list of which detail is of which kind. Note 57.
fn kind_of(detail: &Detail) -> fn(Detail) -> ErrorKind {
    use Detail as D;
    match detail {
        D::NoCudaDriver { .. }
        | D::CudaDriverTooOld { .. }
        | D::NoSuchDevice { .. }
        | D::UnknownDevice { .. }
        | D::CpuThreads { .. }
        | D::Calibration { .. }
        | D::CacheFolder { .. }
        | D::NoNvrtc { .. }
        | D::NoStreamThread { .. }
        | D::NoThread { .. }
        | D::PeerCopies { .. }
        | D::Forked => |detail| ErrorKind::Environment(Environment(detail)),
        D::NoKernels
        | D::Compile { .. }
        | D::Architecture { .. }
        | D::NoSuchKernel { .. }
        | D::ParameterCount { .. }
        | D::ParameterSize { .. }
        | D::InvalidImage { .. }
        | D::NoCodeForDevice { .. }
        | D::PtxTooNew { .. }
        | D::CompileOption { .. }
        | D::NoHostBody { .. }
        | D::ClusterDiffers { .. }
        | D::NoSuchSymbol { .. } => |detail| ErrorKind::Compile(Compile(detail)),
        D::Length { .. }
        | D::Shape { .. }
        | D::ItemSize { .. }
        | D::HaloSize { .. }
        | D::PerChunkLength { .. }
        | D::CopyShape { .. }
        | D::PartBorders { .. }
        | D::PartInChunk { .. }
        | D::NoChunkOfParts { .. }
        | D::PartShape { .. }
        | D::ShapeOfElements { .. }
        | D::NotWhole { .. }
        | D::CarryLength { .. }
        | D::DeviceBufLength { .. }
        | D::Range { .. }
        | D::CopyLength { .. }
        | D::Rectangle { .. }
        | D::UnknownLength { .. }
        | D::PartOfItem { .. }
        | D::SymbolSize { .. }
        | D::Address { .. } => |detail| ErrorKind::Shape(Shape(detail)),
        D::Budget { .. }
        | D::ChunkZero
        | D::DepthZero
        | D::DepthTooLarge { .. }
        | D::LaunchLimit { .. }
        | D::SharedMemory { .. }
        | D::ClusterGrid { .. }
        | D::DeviceLacks { .. } => |detail| ErrorKind::Limit(Limit(detail)),
        D::OutOfDeviceMemory { .. } | D::OutOfPinnedMemory { .. } => {
            |detail| ErrorKind::OutOfMemory(OutOfMemory(detail))
        }
        D::Requires { .. }
        | D::Aliased { .. }
        | D::NotCovered { .. }
        | D::InBlocks { .. }
        | D::ThreadsOfBlocks { .. }
        | D::Unwritten { .. }
        | D::SymbolNotResident { .. }
        | D::SymbolChanged { .. } => |detail| ErrorKind::Contract(Contract(detail)),
        D::Race { .. } | D::MemoryInUse { .. } => |detail| ErrorKind::Race(Race(detail)),
        D::KernelFault { fault, .. } if fault.is_race => |detail| ErrorKind::Race(Race(detail)),
        D::Source { .. } | D::SourceEnded { .. } | D::SourcesDiffer { .. } => {
            |detail| ErrorKind::Source(Source(detail))
        }
        D::Sink { .. } => |detail| ErrorKind::Sink(Sink(detail)),
        D::HostBody { .. }
        | D::KernelFault { .. }
        | D::HostFunction { .. }
        | D::Callback { .. }
        | D::Panicked { .. } => |detail| ErrorKind::Function(Function(detail)),
        D::Routine { .. } | D::RoutineBody { .. } | D::Library { .. } => {
            |detail| ErrorKind::Library(Library(detail))
        }
        D::Cancelled => |detail| ErrorKind::Cancelled(Cancelled(detail)),
        D::JobTaken | D::InputEnded | D::SessionOver => |detail| ErrorKind::Closed(Closed(detail)),
        D::NotSimulated
        | D::StateInUse { .. }
        | D::NotStreamed { .. }
        | D::OtherDevice { .. }
        | D::NoDevices
        | D::SameDevice { .. }
        | D::DevicesDiffer { .. }
        | D::OnOneDevice { .. }
        | D::Parts { .. }
        | D::PartElsewhere { .. }
        | D::PartsStreamed { .. }
        | D::CarriedBySeveral { .. }
        | D::Skipped
        | D::StreamOfOtherDevice { .. }
        | D::EventsOfTwoDevices { .. }
        | D::StreamOfAnotherThread
        | D::OfARun
        | D::SymbolsByHand { .. }
        | D::Capturing { .. }
        | D::EventOfAGraph { .. }
        | D::NotInGraph { .. }
        | D::NotLent { .. }
        | D::NoTiming
        | D::NeverRecorded
        | D::NotComplete
        | D::NotAGpu
        | D::HeldByRun
        | D::NotAVec { .. }
        | D::NoSuchOperation { .. }
        | D::CannotInject => |detail| ErrorKind::Misuse(Misuse(detail)),
        D::Ranks(ranks) if ranks.is_of_the_environment() => {
            |detail| ErrorKind::Environment(Environment(detail))
        }
        D::Ranks(_) => |detail| ErrorKind::Ranks(Ranks(detail)),
        D::Poisoned { .. } | D::PipelinePoisoned | D::NotReached => {
            |detail| ErrorKind::DeviceLost(DeviceLost(detail))
        }
        D::Driver(error) if error.lost => |detail| ErrorKind::DeviceLost(DeviceLost(detail)),
        D::Driver(error) if error.is_out_of_memory() => |detail| ErrorKind::OutOfMemory(OutOfMemory(detail)),
        D::Driver(_) => |detail| ErrorKind::Driver(Driver(detail)),
        // An explored program's failure is of the same kind as the failure itself.
        D::Schedule { cause, .. } => kind_of(cause),
    }
}

impl Compile {
    /// The compiler's or the driver's own text, if there is any.
    pub fn log(&self) -> Option<&str> {
        match self.0.innermost() {
            Detail::Compile { log, .. }
            | Detail::InvalidImage { log, .. }
            | Detail::NoCodeForDevice { log, .. } => Some(log.as_str()).filter(|log| !log.is_empty()),
            _ => None,
        }
    }
}

impl OutOfMemory {
    /// The number of bytes that were asked for; 0 where the driver needs memory of its own and does not say
    /// how much.
    pub fn requested(&self) -> u64 {
        match *self.0.innermost() {
            Detail::OutOfDeviceMemory { requested, .. } | Detail::OutOfPinnedMemory { requested, .. } => {
                requested
            }
            _ => 0,
        }
    }

    /// The free bytes of device memory; `None` for page-locked host memory and for what the driver needs of
    /// its own, where the number is not known.
    pub fn free(&self) -> Option<u64> {
        match *self.0.innermost() {
            Detail::OutOfDeviceMemory { free, .. } => Some(free),
            _ => None,
        }
    }
}

impl Contract {
    /// The kernel's name.
    pub fn kernel(&self) -> &'static str {
        match *self.0.innermost() {
            Detail::Requires { kernel, .. }
            | Detail::Aliased { kernel }
            | Detail::NotCovered { kernel, .. }
            | Detail::InBlocks { kernel, .. }
            | Detail::ThreadsOfBlocks { kernel, .. }
            | Detail::Unwritten { kernel, .. }
            | Detail::SymbolNotResident { kernel, .. }
            | Detail::SymbolChanged { kernel, .. } => kernel,
            _ => "",
        }
    }
}

impl Race {
    /// The operation that was enqueued first; `None` if memory was freed while it was in use, or if threads of
    /// one kernel race.
    pub fn earlier(&self) -> Option<&Touch> {
        match self.0.innermost() {
            Detail::Race { earlier, .. } => Some(earlier),
            _ => None,
        }
    }

    /// The operation that was enqueued second and is not carried out; `None` if memory was freed while it was
    /// in use, or if threads of one kernel race.
    pub fn later(&self) -> Option<&Touch> {
        match self.0.innermost() {
            Detail::Race { later, .. } => Some(later),
            _ => None,
        }
    }

    /// The operations that use memory that was to be freed: the last that writes it, and those that read it
    /// since.
    pub fn users(&self) -> &[Place] {
        match self.0.innermost() {
            Detail::MemoryInUse { operations } => operations,
            _ => &[],
        }
    }
}

impl Source {
    /// The argument's name in the pipeline.
    pub fn argument(&self) -> &'static str {
        match *self.0.innermost() {
            Detail::Source { host, .. }
            | Detail::SourceEnded { host, .. }
            | Detail::SourcesDiffer { host, .. } => host,
            _ => "",
        }
    }

    /// The source's own error, or one that gives the panic's message; `None` if the source ended too early.
    pub fn error(&self) -> Option<&io::Error> {
        self.0.io_error()
    }
}

impl Sink {
    /// The argument's name in the pipeline.
    pub fn argument(&self) -> &'static str {
        match *self.0.innermost() {
            Detail::Sink { host, .. } => host,
            _ => "",
        }
    }

    /// The sink's own error, or one that gives the panic's message.
    pub fn error(&self) -> Option<&io::Error> {
        self.0.io_error()
    }
}

impl Function {
    /// The message of the panic, or of the error that the function returned.
    pub fn message(&self) -> &str {
        match self.0.innermost() {
            Detail::HostBody { message, .. }
            | Detail::HostFunction { message, .. }
            | Detail::Callback { message }
            | Detail::Panicked { message } => message,
            Detail::KernelFault { fault, .. } => &fault.message,
            _ => "",
        }
    }
}

impl Library {
    /// The library's own error, if it is of this type: see [`Error::library`](super::Error::library).
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        self.0.library_error()?.downcast_ref()
    }

    /// What the device reported at the end of the run, if it failed too. A device that is lost is told by
    /// this alone, since the kind is the library's.
    pub fn device(&self) -> Option<&DriverError> {
        self.0.driver_error()
    }
}

impl Ranks {
    /// The ranks that the error is about, such as those that are missing or the one that has died.
    pub fn ranks(&self) -> Vec<usize> {
        match self.0.innermost() {
            Detail::Ranks(ranks) => ranks.ranks(),
            _ => Vec::new(),
        }
    }
}

impl DeviceLost {
    /// The driver's error; `None` for a buffer or a pipeline that an earlier failure has left to the device.
    pub fn error(&self) -> Option<&DriverError> {
        self.0.driver_error()
    }
}

impl Driver {
    /// The driver's function, its code and its description.
    pub fn error(&self) -> &DriverError {
        self.0.driver_error().expect("the kind is made of a driver's error alone")
    }
}
