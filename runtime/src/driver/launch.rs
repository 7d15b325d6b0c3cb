//! [`RawLaunch`]: all properties of one launch of a kernel.

use std::ffi::c_void;

use super::handles::{Access, RawFunction};
use crate::base::in_rust::Copies;
use crate::base::threads::{Grid, volume};

/// The work of a kernel launch on a device on the host.
#[doc(hidden)]
pub type HostBody = Box<dyn FnOnce() + Send + 'static>;

/// Makes the host body of a launch, once for each time that it is launched.
#[doc(hidden)]
pub trait Bodies: Send {
    /// The host body on a device on the host.
    fn body(&self, grid: Grid) -> HostBody;
    /// The host body on copies of the launch's memory; `None` if it can run on the device's alone.
    fn on_copies(&self, grid: Grid, copies: &Copies) -> Option<HostBody>;
    fn kept(&self) -> Box<dyn Bodies>;
}

impl<F: Fn(Grid) -> HostBody + Clone + Send + 'static> Bodies for F {
    fn body(&self, grid: Grid) -> HostBody {
        self(grid)
    }

    fn on_copies(&self, _: Grid, _: &Copies) -> Option<HostBody> {
        None
    }

    fn kept(&self) -> Box<dyn Bodies> {
        Box::new(self.clone())
    }
}

/// The host bodies of a kernel in Rust: a function that makes them for the launch's memory or copies of it.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct InRust<F>(pub F);

impl<F: Fn(Grid, &Copies) -> HostBody + Clone + Send + 'static> Bodies for InRust<F> {
    fn body(&self, grid: Grid) -> HostBody {
        (self.0)(grid, &Copies::default())
    }

    fn on_copies(&self, grid: Grid, copies: &Copies) -> Option<HostBody> {
        Some((self.0)(grid, copies))
    }

    fn kept(&self) -> Box<dyn Bodies> {
        Box::new(self.clone())
    }
}

/// The origin of a launch's host body. Only a device on the host asks for one.
#[derive(Clone, Copy)]
pub(crate) enum HostBodies<'a> {
    /// It is made each time the launch is enqueued, so that a graph may contain the launch.
    Many(&'a dyn Bodies),
    /// It is made once.
    One(&'a dyn Fn() -> HostBody),
    /// It comes with the launch of the graph that contains this launch.
    OfGraph,
}

/// All properties of one launch.
#[derive(Clone, Copy)]
pub(crate) struct RawLaunch<'a> {
    pub function: RawFunction,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared: u32,
    /// Pointers to the kernel's arguments, in order, as `cuLaunchKernel` takes them.
    pub params: &'a [*mut c_void],
    /// The size of each argument, in bytes.
    pub sizes: &'a [usize],
    pub accesses: &'a [Access],
    pub bodies: HostBodies<'a>,
}

impl RawLaunch<'_> {
    /// Its launch configuration.
    pub(crate) fn configuration(&self) -> Grid {
        Grid { grid_dim: self.grid, block_dim: self.block, shared: self.shared }
    }

    /// The number of its blocks; `None` for a routine on the host, which has no grid of its own.
    pub(crate) fn blocks(&self) -> Option<u64> {
        (self.function.handle != 0).then(|| volume(self.grid))
    }

    /// Makes its host body, unless that comes with a graph.
    pub(crate) fn body(&self) -> Option<HostBody> {
        match self.bodies {
            HostBodies::Many(bodies) => Some(bodies.body(self.configuration())),
            HostBodies::One(body) => Some(body()),
            HostBodies::OfGraph => None,
        }
    }
}
