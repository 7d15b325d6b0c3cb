//! [`Operation`]: what is enqueued on a stream.

use crate::base::kernel::Grid;
use crate::driver::recording::{Recording, Work};
use crate::driver::{
    Access, DevicePtr, Driver, DriverResult, HostBody, HostJob, RawGraph, RawLaunch, RawStream, Rows, Tag,
};

/// Makes the host body of a launch, as often as it is launched.
pub(crate) trait Bodies: Send {
    fn body(&self, grid: Grid) -> HostBody;
    fn kept(&self) -> Box<dyn Bodies>;
}

impl<F: Fn(Grid) -> HostBody + Clone + Send + 'static> Bodies for F {
    fn body(&self, grid: Grid) -> HostBody {
        self(grid)
    }

    fn kept(&self) -> Box<dyn Bodies> {
        Box::new(self.clone())
    }
}

/// An operation.
pub(crate) enum Operation<'a> {
    Upload { to: DevicePtr, from: *const u8, bytes: usize },
    Download { to: *mut u8, from: DevicePtr, bytes: usize },
    OnDevice { to: DevicePtr, from: DevicePtr, bytes: usize },
    Rows(Rows),
    Fill { to: DevicePtr, pattern: &'a [u8], count: usize },
    Launch { launch: RawLaunch<'a>, bodies: &'a dyn Bodies, grid: Grid },
    Graph { graph: &'a RawGraph, nodes: &'a Recording, bodies: Vec<HostBody> },
    Host { job: HostJob, accesses: &'a [Access] },
    Signal(HostJob),
}

impl Operation<'_> {
    /// Whether it does nothing, so that it need not be enqueued: then it orders nothing either.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Upload { bytes, .. } | Self::Download { bytes, .. } | Self::OnDevice { bytes, .. } => {
                *bytes == 0
            }
            Self::Rows(rows) => rows.is_empty(),
            Self::Fill { pattern, count, .. } => pattern.is_empty() || *count == 0,
            Self::Graph { nodes, .. } => nodes.nodes().iter().all(|node| node.work == Work::Nothing),
            Self::Launch { .. } | Self::Host { .. } | Self::Signal(_) => false,
        }
    }

    /// # Safety
    /// As the driver's methods: the stream is live, the ranges of memory stay until the operation has completed, and so on.
    pub(crate) unsafe fn enqueue(self, driver: &dyn Driver, stream: RawStream, tag: Tag) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Upload { to, from, bytes } => driver.copy_to_device(to, from, bytes, stream, tag),
                Self::Download { to, from, bytes } => driver.copy_to_host(to, from, bytes, stream, tag),
                Self::OnDevice { to, from, bytes } => driver.copy_on_device(to, from, bytes, stream, tag),
                Self::Rows(rows) => driver.copy_rows(&rows, stream, tag),
                Self::Fill { to, pattern, count } => driver.fill(to, pattern, count, stream, tag),
                Self::Launch { launch, .. } => driver.launch(launch, stream, tag),
                Self::Graph { graph, nodes, bodies } => {
                    driver.launch_graph(graph, nodes, bodies, stream, tag)
                }
                Self::Host { job, accesses } => driver.host(job, accesses, stream, tag),
                Self::Signal(job) => driver.signal(job, stream, tag),
            }
        }
    }
}
