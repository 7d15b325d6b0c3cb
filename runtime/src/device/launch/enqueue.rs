//! [`Launch`]: one launch, and where it is enqueued.

use std::ffi::c_void;
use std::fmt;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::kernel::{Grid, KernelInfo};
use crate::device::function::Function;
use crate::device::pending::Caller;
use crate::driver::{Access, Bodies, HostBodies, HostBody, RawLaunch};

/// A kernel type made by `#[kernels]`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kernel",
    label = "expected a kernel declared with `#[kernels(\"…\")]`"
)]
pub trait Kernel: Sized {
    const INFO: &'static KernelInfo;

    /// # Safety
    /// `function` was loaded from `INFO`: the signature that the kernel's launches use is that one's.
    unsafe fn from_function(function: Function) -> Self;
}

/// What the names in a condition stood for.
#[doc(hidden)]
#[derive(Debug)]
pub struct Values(Vec<(&'static str, String)>);

impl Values {
    /// Adds one.
    pub fn add(&mut self, name: &'static str, value: impl fmt::Display) -> &mut Self {
        self.0.push((name, value.to_string()));
        self
    }
}

/// One launch: where it is enqueued, with its configuration.
#[derive(Debug)]
#[doc(hidden)]
pub struct Launch<'r> {
    target: &'r dyn LaunchTarget,
    /// The call, of a launch by hand.
    at: Caller,
    grid: Grid,
}

/// Where launches are enqueued: an operation of a pipeline, or a stream.
pub(crate) trait LaunchTarget: fmt::Debug {
    /// What the kernel requires may depend on more than its arguments.
    fn asks(&self) {}

    /// The error of a launch that is refused.
    fn refused(&self, at: Caller, kernel: &'static str, kind: ErrorKind) -> Error;

    /// Enqueues a kernel.
    ///
    /// # Safety
    /// As [`Launch::enqueue`].
    unsafe fn enqueue(
        &self,
        at: Caller,
        function: &Function,
        arguments: Arguments<'_>,
        bodies: &dyn Bodies,
        grid: Grid,
    ) -> Result<()>;
}

/// The arguments of a launch.
pub(crate) struct Arguments<'a> {
    /// A pointer to each, in order.
    pub(crate) params: &'a mut [*mut c_void],
    /// The bytes of each.
    pub(crate) sizes: &'a [usize],
    /// The memory that the kernel touches.
    pub(crate) accesses: &'a [Access],
    /// What the variables of the kernel's module hold.
    pub(crate) symbols: &'a [Access],
}

impl<'a> Arguments<'a> {
    /// What the driver is given.
    pub(crate) fn launch(self, function: &Function, grid: Grid, bodies: &'a dyn Bodies) -> RawLaunch<'a> {
        let Self { params, sizes, accesses, .. } = self;
        let Grid { grid_dim, block_dim, shared } = grid;
        RawLaunch {
            function: function.raw,
            grid: grid_dim,
            block: block_dim,
            shared,
            params,
            sizes,
            accesses,
            bodies: HostBodies::Many(bodies),
        }
    }
}

impl<'r> Launch<'r> {
    pub(crate) fn new(target: &'r dyn LaunchTarget, at: Caller, grid: Grid) -> Self {
        Self { target, at, grid }
    }

    /// What the kernel requires may depend on more than its arguments: it is to be asked in the next run, too.
    #[inline]
    pub fn asks(&self) {
        self.target.asks();
    }

    /// Notes that the kernel's requirements follow from its arguments, if all these words are `Some`.
    /// Otherwise it [`asks`](Self::asks).
    #[inline]
    pub fn follows<const N: usize>(&self, words: [Option<u64>; N]) {
        if words.contains(&None) {
            self.asks();
        }
    }

    // Note 2: safe code may pass any number, so the kernel says what it needs.
    /// Refuses the launch unless the kernel's requirement holds.
    ///
    /// # Errors
    /// [`ErrorKind::Requires`] if it does not.
    #[inline]
    pub fn requires(
        &self,
        holds: bool,
        kernel: &'static str,
        condition: &'static str,
        say: impl FnOnce(&mut Values),
    ) -> Result<()> {
        if holds {
            return Ok(());
        }
        let mut values = Values(Vec::new());
        say(&mut values);
        let kind = ErrorKind::Requires { kernel, condition, values: values.0 };
        Err(self.target.refused(self.at, kernel, kind))
    }

    /// Enqueues the kernel. `symbols` is what the module's variables hold, in the order of the
    /// kernel's declaration; they are among `accesses` too.
    ///
    /// # Safety
    /// `params` are the kernel's parameters, in order, of `sizes` initialised bytes, and the kernel stays within
    /// `accesses`.
    ///
    /// # Errors
    /// The configuration is outside the limits, two of `accesses` overlap and one writes, `symbols` are not what earlier
    /// launches of the run have given, or the driver refuses.
    pub unsafe fn enqueue(
        self,
        function: &Function,
        params: &mut [*mut c_void],
        sizes: &[usize],
        accesses: &[Access],
        symbols: &[Access],
        host: &(impl Fn(Grid) -> HostBody + Clone + Send + 'static),
    ) -> Result<()> {
        let Self { target, at, grid } = self;
        let arguments = Arguments { params, sizes, accesses, symbols };
        // SAFETY: the caller's promise.
        unsafe { target.enqueue(at, function, arguments, host, grid) }
    }
}
