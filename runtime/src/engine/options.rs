//! [`Options`]: how a pipeline is built.

use std::marker::PhantomData;

use crate::base::error::Result;
use crate::base::events;
use crate::base::progress::{Progress, Reporting};
use crate::device::Device;

/// A pipeline type made by `stream_pipeline!`.
#[doc(hidden)]
pub trait Build: Sized {
    fn build(settings: Settings<'_>) -> Result<Self>;
}

/// What a pipeline is built with, other than its declarations say: `Saxpy::options(&device).chunk(n).build()?`.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::saxpy;
///
/// # stream_pipeline! {
/// #     pipeline Saxpy {
/// #         param a: f32;
/// #         input x: [f32];
/// #         inout y: [f32];
/// #         chunk c = auto;
/// #         stage load { copy x -> dx; copy y -> dy; }
/// #         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy); }
/// #         stage store { copy dy -> y; }
/// #     }
/// # }
/// let device = Device::simulated(Spec::h200());
/// let mut saxpy = Saxpy::options(&device).chunk(1000).depth(2).build()?;
///
/// let mut y = [2.0; 4500];
/// let report = saxpy.run(3.0, &[1.0; 4500], &mut y)?;
/// assert_eq!((report.chunks, report.chunk, report.depth), (5, 1000, 2));
/// assert_eq!(y, [5.0; 4500]);
///
/// let refused = Saxpy::options(&device).depth(0).build().err().expect("a ring needs slots");
/// assert!(matches!(refused.kind(), ErrorKind::DepthZero));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[must_use = "options do nothing until `build` is called"]
pub struct Options<P> {
    device: Device,
    chunk: Option<usize>,
    depth: Option<usize>,
    budget: Option<usize>,
    /// Graphs or streams, in place of what the pipeline declares.
    graph: Option<bool>,
    profile_share: Option<f64>,
    reporting: Reporting,
    pipeline: PhantomData<fn() -> P>,
}

/// Whatever the pipeline: none is `Clone`.
impl<P> Clone for Options<P> {
    fn clone(&self) -> Self {
        let Self { ref device, chunk, depth, budget, graph, profile_share, ref reporting, pipeline } = *self;
        let (device, reporting) = (device.clone(), reporting.clone());
        Self { device, chunk, depth, budget, graph, profile_share, reporting, pipeline }
    }
}

impl<P: Build> Options<P> {
    #[doc(hidden)]
    pub fn new(device: &Device) -> Self {
        Self {
            device: device.clone(),
            chunk: None,
            depth: None,
            budget: None,
            graph: None,
            profile_share: None,
            reporting: Reporting::default(),
            pipeline: PhantomData,
        }
    }

    /// Items in a chunk, in place of the pipeline's `chunk` declaration. At least 1; the last chunk of a run may have fewer.
    pub fn chunk(mut self, items: usize) -> Self {
        self.chunk = Some(items);
        self
    }

    /// Ring slots, in place of the pipeline's `depth` declaration: chunks that may be under way at once. From 1 to 1,024.
    ///
    /// Each slot has device memory of its own for every buffer that is neither `resident` nor a `carry`.
    pub fn depth(mut self, slots: usize) -> Self {
        self.depth = Some(slots);
        self
    }

    /// Bytes of device memory that the ring may take, in place of the pipeline's `budget` declaration. An `auto` chunk is
    /// made small enough; what is given and does not fit is [`ErrorKind::Budget`](crate::ErrorKind::Budget), from
    /// [`build`](Self::build) or from the run whose arguments it depends on.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// stream_pipeline! {
    ///     pipeline Through {
    ///         input x: [f32];
    ///         output z: [f32];
    ///         chunk c = auto;
    ///         depth = 2;
    ///         stage there { copy x -> dx; }
    ///         stage back { copy dx -> z; }
    ///     }
    /// }
    ///
    /// let device = Device::simulated(Spec::h200());
    /// let (x, mut z) = (vec![1.0; 1 << 20], vec![0.0; 1 << 20]);
    /// let report = Through::options(&device).budget(64 * KIB).build()?.run(&x, &mut z)?;
    /// assert!(report.device_memory <= 64 * KIB as u64);
    ///
    /// // 2 slots with 16 Ki elements of 4 bytes are 128 KiB.
    /// let too_large = Through::options(&device).budget(64 * KIB).chunk(16 * KIB).build();
    /// let refused = too_large.and_then(|mut through| through.run(&x, &mut z)).unwrap_err();
    /// assert!(matches!(refused.kind(), ErrorKind::Budget { needed: 131_072, budget: 65_536, .. }));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn budget(mut self, bytes: usize) -> Self {
        self.budget = Some(bytes);
        self
    }

    /// Graph mode: a run records its operations as a CUDA graph, which is launched as a whole and kept. A later run of
    /// the same shape changes what differs and launches it again, which costs the host far fewer calls.
    ///
    /// If all host arguments are in pinned memory, a graph is a whole run, else a chunk. Streams then say what is ordered
    /// and no more: their priorities do not apply. With `THALWEG_SYNC=1` there are no graphs.
    ///
    /// In place of the pipeline's `mode` declaration, as [`streams`](Self::streams) is: the last of the two counts.
    pub fn graph(mut self) -> Self {
        self.graph = Some(true);
        self
    }

    /// No graphs, in place of the pipeline's `mode` declaration: a run hands its operations to the streams one by one.
    pub fn streams(mut self) -> Self {
        self.graph = Some(false);
        self
    }

    /// The share of a profiled run's time, from 0 to 1, that may be spent on telling the time.
    ///
    /// An event that tells the time costs the host two microseconds or more. `profile` times every chunk where nobody waits for
    /// that. Where the CPU has a part in every chunk (ordinary memory, sources, sinks), there is one chunk at a time (`depth = 1`),
    /// a chunk has less than 2 MiB each way, slots have streams of their own that copy, or kernels work on `mapped` memory, it would
    /// make the run longer: then it times a few chunks that follow each other, the first ones and some once each slot is in use again,
    /// and more of them as long as no more than 1 % of the run's time goes into it (0.2 % with `mapped` memory, where it is not the
    /// host that is held up). The spans of the others are worked out from these, and [`Span::estimated`](crate::Span::estimated). On the
    /// simulated device, and with `THALWEG_SYNC=1`, nobody waits, and every chunk is timed.
    ///
    /// This says how much it may be, whatever the run and the device are like: 1 times every chunk, 0 those few.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// # stream_pipeline! {
    /// #     pipeline Through {
    /// #         input x: [f32];
    /// #         output z: [f32];
    /// #         chunk c = 4;
    /// #         stage there { copy x -> dx; }
    /// #         stage back { copy dx -> z; }
    /// #     }
    /// # }
    /// let device = Device::simulated(Spec::h200());
    /// let (x, mut z) = (vec![1.0; 400], vec![0.0; 400]); // 100 chunks
    /// let all = Through::options(&device).profile_share(1.0).build()?.profile(&x, &mut z)?;
    /// assert_eq!(all.timed_chunks(), 100);
    /// let few = Through::options(&device).profile_share(0.0).build()?.profile(&x, &mut z)?;
    /// assert!(few.timed_chunks() < 100 && few.spans.len() == all.spans.len());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn profile_share(mut self, share: f64) -> Self {
        self.profile_share = Some(share);
        self
    }

    /// Shows a bar on standard error while the pipeline runs: items done, items a second and the time left. Drawn at most ten times
    /// a second, and not at all where standard error is no terminal.
    ///
    /// [`progress_with`](Self::progress_with) says when a chunk counts as done. In its place: the last of the two counts.
    ///
    /// Needs the feature `progress`.
    #[cfg(feature = "progress")]
    pub fn progress(mut self) -> Self {
        self.reporting = Reporting::Bar;
        self
    }

    /// Calls `report` when a run begins, whenever more of it is done, and when all of it is; after an error no more. The calls
    /// come from the thread that called `run`, at most one for each chunk and one more, and the run goes on when they return.
    ///
    /// A chunk counts as done when another one has taken over its ring slot. Where every chunk's results are staged, they have
    /// arrived then: the host has waited for them. Else it was enqueued, and the device may be behind: nothing is waited for that a
    /// run without this would not wait for.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// use thalweg::prelude::*;
    /// use thalweg_kernels::saxpy;
    ///
    /// stream_pipeline! {
    ///     pipeline Saxpy {
    ///         param a: f32;
    ///         input x: [f32];
    ///         inout y: [f32];
    ///         chunk c = auto;
    ///         stage load { copy x -> dx; copy y -> dy; }
    ///         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(c.len as u32, a, &dx, &mut dy); }
    ///         stage store { copy dy -> y; }
    ///     }
    /// }
    ///
    /// static DONE: AtomicUsize = AtomicUsize::new(0);
    ///
    /// let device = Device::simulated(Spec::default());
    /// let options = Saxpy::options(&device).chunk(1000);
    /// let mut saxpy = options.progress_with(|progress| DONE.store(progress.done, Ordering::Relaxed)).build()?;
    /// saxpy.run(3.0, &[1.0; 5000], &mut [2.0; 5000])?;
    /// assert_eq!(DONE.load(Ordering::Relaxed), 5000);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn progress_with(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.reporting = Reporting::with(report);
        self
    }

    /// Creates the streams and events, loads the kernels, and allocates the ring if its size does not depend on the
    /// arguments of a run.
    ///
    /// # Errors
    /// The chunk or the depth is 0, or the depth more than 1,024 ([`ChunkZero`], [`DepthZero`], [`DepthTooLarge`]); the ring is
    /// larger than its budget, or than the device's memory ([`Budget`], [`OutOfDeviceMemory`]); a kernel does not compile, is not in
    /// its source, or has other parameters there ([`Compile`], [`NoSuchKernel`], [`ParameterCount`], [`ParameterSize`]); on a GPU,
    /// there is no NVRTC to compile it ([`NoNvrtc`]); on the simulated device, it has no host body ([`NoHostBody`]); the driver
    /// refuses ([`Driver`]).
    ///
    /// [`ChunkZero`]: crate::ErrorKind::ChunkZero
    /// [`DepthZero`]: crate::ErrorKind::DepthZero
    /// [`DepthTooLarge`]: crate::ErrorKind::DepthTooLarge
    /// [`Budget`]: crate::ErrorKind::Budget
    /// [`OutOfDeviceMemory`]: crate::ErrorKind::OutOfDeviceMemory
    /// [`Compile`]: crate::ErrorKind::Compile
    /// [`NoSuchKernel`]: crate::ErrorKind::NoSuchKernel
    /// [`ParameterCount`]: crate::ErrorKind::ParameterCount
    /// [`ParameterSize`]: crate::ErrorKind::ParameterSize
    /// [`NoNvrtc`]: crate::ErrorKind::NoNvrtc
    /// [`NoHostBody`]: crate::ErrorKind::NoHostBody
    /// [`Driver`]: crate::ErrorKind::Driver
    pub fn build(self) -> Result<P> {
        let built = P::build(Settings {
            device: &self.device,
            chunk: self.chunk,
            depth: self.depth,
            budget: self.budget,
            graph: self.graph,
            profile_share: self.profile_share,
            reporting: &self.reporting,
        });
        built.inspect_err(events::failed)
    }
}

/// What [`Options`] hand to [`Pipeline::new`](crate::__private::Pipeline::new).
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    pub(crate) device: &'a Device,
    pub(crate) chunk: Option<usize>,
    pub(crate) depth: Option<usize>,
    pub(crate) budget: Option<usize>,
    pub(crate) graph: Option<bool>,
    pub(crate) profile_share: Option<f64>,
    pub(crate) reporting: &'a Reporting,
}

impl Settings<'_> {
    /// The device to build on.
    pub fn device(&self) -> &Device {
        self.device
    }
}
