//! [`Options`]: settings with which a pipeline is built.

use std::marker::PhantomData;

use crate::base::error::Result;
use crate::base::events;
use crate::base::progress::{Progress, Reporting};
use crate::device::{Device, Devices};
use crate::world::World;

/// A pipeline type made by `stream_pipeline!`.
#[doc(hidden)]
pub trait Build: Sized {
    fn build(settings: Settings<'_>) -> Result<Self>;
}

/// Settings that override a pipeline's declarations: `Saxpy::options(&device).chunk(n).build()?`.
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
/// #         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
/// #         stage store { copy dy -> y; }
/// #     }
/// # }
/// let device = Device::simulated(Simulation::h200());
/// let mut saxpy = Saxpy::options(&device).chunk(1000).depth(2).build()?;
///
/// let mut y = [2.0; 4500];
/// let report = saxpy.run(3.0, &[1.0; 4500], &mut y)?;
/// assert_eq!((report.chunks, report.chunk, report.depth), (5, 1000, 2));
/// assert_eq!(y, [5.0; 4500]);
///
/// let refused = Saxpy::options(&device).depth(0).build().err().expect("a ring needs slots");
/// assert!(matches!(refused.kind(), ErrorKind::Limit(_)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[must_use = "options do nothing until `build` is called"]
pub struct Options<P> {
    devices: Vec<Device>,
    chunk: Option<usize>,
    depth: Option<usize>,
    budget: Option<usize>,
    /// Whether runs launch graphs; overrides the pipeline's declaration.
    graph: Option<bool>,
    profile_share: Option<f64>,
    world: Option<World>,
    reporting: Reporting,
    pipeline: PhantomData<fn() -> P>,
}

/// Written by hand, because it holds for every pipeline type: none is `Clone`.
impl<P> Clone for Options<P> {
    fn clone(&self) -> Self {
        let Self {
            ref devices,
            chunk,
            depth,
            budget,
            graph,
            profile_share,
            ref world,
            ref reporting,
            pipeline,
        } = *self;
        let (devices, world, reporting) = (devices.clone(), world.clone(), reporting.clone());
        Self { devices, chunk, depth, budget, graph, profile_share, world, reporting, pipeline }
    }
}

impl<P: Build> Options<P> {
    #[doc(hidden)]
    pub fn new(devices: &(impl Devices + ?Sized)) -> Self {
        Self {
            devices: devices.list(),
            chunk: None,
            depth: None,
            budget: None,
            graph: None,
            profile_share: None,
            world: None,
            reporting: Reporting::default(),
            pipeline: PhantomData,
        }
    }

    /// Items in a chunk; overrides the pipeline's `chunk` declaration. At least 1; the last chunk of a run
    /// may have fewer.
    pub fn chunk(mut self, items: usize) -> Self {
        self.chunk = Some(items);
        self
    }

    /// Ring slots, which is the number of chunks that may be under way at once; overrides the pipeline's
    /// `depth` declaration. From 1 to 1,024.
    ///
    /// Each slot has device memory of its own for every buffer that is neither `resident` nor a `carry`.
    pub fn depth(mut self, slots: usize) -> Self {
        self.depth = Some(slots);
        self
    }

    /// Bytes of device memory that the ring may take; overrides the pipeline's `budget` declaration. An
    /// `auto` chunk is made small enough. A given chunk that does not fit is
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit), from [`build`](Self::build) or from the run whose
    /// arguments it depends on.
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
    /// let device = Device::simulated(Simulation::h200());
    /// let (x, mut z) = (vec![1.0; 1 << 20], vec![0.0; 1 << 20]);
    /// let report = Through::options(&device).budget(64 * KIB).build()?.run(&x, &mut z)?;
    /// assert!(report.device_memory <= 64 * KIB as u64);
    ///
    /// // 2 slots with 16 Ki elements of 4 bytes are 128 KiB.
    /// let too_large = Through::options(&device).budget(64 * KIB).chunk(16 * KIB).build();
    /// let refused = too_large.and_then(|mut through| through.run(&x, &mut z)).unwrap_err();
    /// assert!(refused.to_string().starts_with("the ring needs 131072 bytes of device memory, but its budget is 65536"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn budget(mut self, bytes: usize) -> Self {
        self.budget = Some(bytes);
        self
    }

    /// Graph mode: a run records its operations as a CUDA graph, which is launched as a whole and kept. A
    /// later run of the same shape changes the parts that differ and launches the graph again, which costs
    /// the host far fewer calls.
    ///
    /// If all host arguments are in page-locked memory, a graph is a whole run, else a chunk. Streams then
    /// only define the order of operations: their priorities do not apply. With `THALWEG_SYNC=1` there are no
    /// graphs.
    ///
    /// Overrides the pipeline's `mode` declaration, as [`streams`](Self::streams) does: the last of the two
    /// counts.
    pub fn graph(mut self) -> Self {
        self.graph = Some(true);
        self
    }

    /// No graphs: a run hands its operations to the streams one by one. Overrides the pipeline's `mode`
    /// declaration.
    pub fn streams(mut self) -> Self {
        self.graph = Some(false);
        self
    }

    /// The share of a profiled run's time, from 0 to 1, that may be spent on timestamps.
    ///
    /// An event with a timestamp costs the host two microseconds or more. `profile` times every chunk where
    /// nobody waits for the timestamps. Timing every chunk would make the run longer where the CPU has a part
    /// in every chunk (ordinary memory, sources, sinks), where there is one chunk at a time (`depth = 1`),
    /// where a chunk has less than 2 MiB each way, where slots have streams of their own that copy, and where
    /// kernels work on `mapped` memory. Then `profile` times a few consecutive chunks: the first ones and
    /// some once each slot is in use again, and more of them as long as no more than 1 % of the run's time
    /// goes into it (0.2 % with `mapped` memory, where the delay is not the host's). The spans of the other
    /// chunks are calculated from these and marked as [`Span::estimated`](crate::timeline::Span::estimated).
    /// On the CPU and the simulated device, and with `THALWEG_SYNC=1`, nobody waits, and every chunk is timed.
    ///
    /// This sets the share regardless of the run and the device: 1 times every chunk, 0 only those few.
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
    /// let device = Device::simulated(Simulation::h200());
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

    /// Joins a world: the pipeline's collective operations (`all_reduce sum g;`) are those of all its ranks, each of
    /// which builds the same pipeline, with one device. Without this, the pipeline is a world of one.
    ///
    /// Each run begins when all ranks have come to it, and have agreed on its chunks, its `uniform` parameters and the
    /// lengths of what they share. A rank with fewer items than others takes part in all chunks: what it lacks is filled
    /// in with the element that changes nothing, and operations that need items of such a chunk are left out.
    ///
    /// If a rank's run fails, the runs of all ranks fail, and the world is of no use any more.
    pub fn world(mut self, world: &World) -> Self {
        self.world = Some(world.clone());
        self
    }

    /// Shows a bar on standard error while the pipeline runs: items done, items a second and the time left.
    /// The bar is drawn at most ten times a second, and only if standard error is a terminal.
    ///
    /// [`progress_with`](Self::progress_with) says when a chunk counts as done. Each overrides the other: the
    /// last of the two counts.
    ///
    /// Needs the feature `progress`.
    #[cfg(feature = "progress")]
    pub fn progress(mut self) -> Self {
        self.reporting = Reporting::Bar;
        self
    }

    /// Calls `report` when a run begins, whenever more of it is done, and when all of it is done; after an
    /// error it is not called again. The calls come from the thread that called `run`, at most one for each
    /// chunk and one more, and the run goes on when they return.
    ///
    /// A chunk counts as done when another one has taken over its ring slot. Where every chunk's results are
    /// staged, they have arrived by then: the host has waited for them. Otherwise the chunk was enqueued, and
    /// the device may be behind: reporting never adds a wait to the run.
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
    ///         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
    ///         stage store { copy dy -> y; }
    ///     }
    /// }
    ///
    /// static DONE: AtomicUsize = AtomicUsize::new(0);
    ///
    /// let device = Device::simulated(Simulation::default());
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

    /// Creates the streams and events, loads the kernels, and allocates the ring if its size does not depend
    /// on the arguments of a run.
    ///
    /// # Errors
    /// [`Limit`]: the chunk or the depth is 0, the depth is more than 1,024, or the ring is larger than its
    /// budget. [`OutOfMemory`]: the ring is larger than the device's free memory. [`Compile`]: a kernel does
    /// not compile, is not in its source, or has other parameters there; on the simulated device, it has no
    /// host body. [`Environment`]: on a GPU, there is no NVRTC to compile it. [`Driver`]: the driver refuses.
    ///
    /// [`Limit`]: crate::ErrorKind::Limit
    /// [`OutOfMemory`]: crate::ErrorKind::OutOfMemory
    /// [`Compile`]: crate::ErrorKind::Compile
    /// [`Environment`]: crate::ErrorKind::Environment
    /// [`Driver`]: crate::ErrorKind::Driver
    pub fn build(self) -> Result<P> {
        let built = P::build(Settings {
            devices: &self.devices,
            chunk: self.chunk,
            depth: self.depth,
            budget: self.budget,
            graph: self.graph,
            profile_share: self.profile_share,
            world: self.world.as_ref(),
            type_name: std::any::type_name::<P>(),
            reporting: &self.reporting,
        });
        built.inspect_err(events::failed)
    }
}

/// The settings that [`Options`] hand to [`Pipelines::new`](crate::__private::Pipelines::new).
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    devices: &'a [Device],
    pub(crate) chunk: Option<usize>,
    pub(crate) depth: Option<usize>,
    pub(crate) budget: Option<usize>,
    pub(crate) graph: Option<bool>,
    pub(crate) profile_share: Option<f64>,
    pub(crate) world: Option<&'a World>,
    /// The name of the pipeline's type, with its parameters.
    pub(crate) type_name: &'static str,
    pub(crate) reporting: &'a Reporting,
}

impl<'a> Settings<'a> {
    /// The first device to build on.
    pub(crate) fn device(&self) -> &'a Device {
        &self.devices[0]
    }

    /// The devices to build on.
    pub(crate) fn devices(&self) -> &'a [Device] {
        self.devices
    }

    /// The same settings for one device.
    pub(crate) fn on<'d>(self, device: &'d Device) -> Settings<'d>
    where
        'a: 'd,
    {
        Settings { devices: std::slice::from_ref(device), ..self }
    }
}
