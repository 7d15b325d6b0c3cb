//! [`Launch`]: one launch, and its target.

use std::ffi::c_void;
use std::fmt;

use super::lender::Lender;
use crate::base::error::{Detail, Error, Result};
use crate::base::kernel::KernelInfo;
use crate::base::threads::Grid;
use crate::device::function::Function;
use crate::device::pending::Caller;
use crate::device::views::{OwnView, Uneven};
use crate::driver::{Access, Bodies, HostBodies, RawLaunch};

/// A kernel type made by `#[kernels]` or `#[kernel]`.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kernel",
    label = "expected a function with `#[kernel]`, or a kernel declared in `#[kernels(\"…\")]`"
)]
pub trait Kernel: Sized {
    const INFO: &'static KernelInfo;

    /// # Safety
    /// `function` was loaded from `INFO`, so that the signature that the kernel's launches use is that of
    /// `INFO`.
    unsafe fn from_function(function: Function) -> Self;
}

/// The values of the names in a condition.
#[doc(hidden)]
#[derive(Debug)]
pub struct Values(Vec<(&'static str, String)>);

impl Values {
    /// Adds a name and its value.
    pub fn add(&mut self, name: &'static str, value: impl fmt::Display) -> &mut Self {
        self.0.push((name, value.to_string()));
        self
    }
}

/// One launch: its target and its configuration.
#[derive(Debug)]
#[doc(hidden)]
pub struct Launch<'r> {
    target: &'r dyn LaunchTarget,
    /// The call, for a launch by hand.
    at: Caller,
    grid: Grid,
}

/// The target of launches: an operation of a pipeline, or a stream.
pub(crate) trait LaunchTarget: fmt::Debug {
    /// Notes that the kernel's requirements may depend on more than its arguments.
    fn asks(&self) {}

    /// The error of a launch that is refused.
    fn refused(&self, at: Caller, kernel: &'static str, detail: Detail) -> Error;

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
    /// Pointers to the arguments, in order.
    pub(crate) params: &'a mut [*mut c_void],
    /// The size of each argument, in bytes.
    pub(crate) sizes: &'a [usize],
    /// The memory that the kernel accesses.
    pub(crate) accesses: &'a [Access],
    /// For each of these, the allocation that it is a part of.
    pub(crate) lenders: &'a [Lender<'a>],
    /// The values of the variables of the kernel's module.
    pub(crate) symbols: &'a [Access],
}

impl<'a> Arguments<'a> {
    /// The launch as the driver takes it.
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

    /// Notes that the kernel's requirements may depend on more than its arguments, so that the next run asks
    /// them, too.
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
    /// [`ErrorKind::Contract`] if it does not.
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
        let kind = Detail::Requires { kernel, condition, values: values.0 };
        Err(self.target.refused(self.at, kernel, kind))
    }

    /// Refuses the launch unless each element of the parameter has exactly one thread.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if the shape has not as many elements as the memory. [`ErrorKind::Contract`] if the
    /// grid has fewer threads than elements along an axis, or more than one along an axis that the kernel does
    /// not count.
    #[inline]
    pub fn covers<T, const D: usize>(
        &self,
        kernel: &'static str,
        parameter: &'static str,
        view: &OwnView<T, D>,
    ) -> Result<()> {
        self.unless(kernel, uncovered(self.grid, kernel, parameter, &view.shape(), view.elements(), true))
    }

    /// Refuses the launch if two threads have one index. Of this parameter any thread takes any element, so that
    /// an element need not have a thread of its own.
    ///
    /// # Errors
    /// Those of [`covers`](Self::covers), but for a grid that has fewer threads than there are elements.
    #[inline]
    pub fn counts<T, const D: usize>(
        &self,
        kernel: &'static str,
        parameter: &'static str,
        view: &OwnView<T, D>,
    ) -> Result<()> {
        self.unless(kernel, uncovered(self.grid, kernel, parameter, &view.shape(), view.elements(), false))
    }

    fn unless(&self, kernel: &'static str, wrong: Option<Detail>) -> Result<()> {
        match wrong {
            None => Ok(()),
            Some(detail) => Err(self.target.refused(self.at, kernel, detail)),
        }
    }

    /// Refuses the launch if elements are left over, which the kernel takes several at a time.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if there are.
    #[inline]
    pub fn whole(&self, kernel: &'static str, parameter: &'static str, uneven: Option<Uneven>) -> Result<()> {
        let Some(Uneven { group, elements }) = uneven else { return Ok(()) };
        let detail = Detail::NotWhole { kernel, parameter, group, elements };
        Err(self.target.refused(self.at, kernel, detail))
    }

    /// Refuses the launch of a kernel in blocks if the grid has more dimensions than the kernel counts, or the
    /// blocks more than one.
    ///
    /// # Errors
    /// [`ErrorKind::Contract`] if they have.
    #[inline]
    pub fn in_blocks(&self, kernel: &'static str, axes: usize) -> Result<()> {
        let Grid { grid_dim, block_dim, .. } = self.grid;
        if grid_dim[axes..].iter().all(|&blocks| blocks == 1) && block_dim[1..] == [1, 1] {
            return Ok(());
        }
        let detail = Detail::InBlocks { kernel, axes, grid: grid_dim, block: block_dim };
        Err(self.target.refused(self.at, kernel, detail))
    }

    /// Refuses the launch unless its blocks have as many threads as the kernel says.
    ///
    /// # Errors
    /// [`ErrorKind::Contract`] if they have more or fewer.
    #[inline]
    pub fn has_threads(&self, kernel: &'static str, threads: u32) -> Result<()> {
        let Grid { grid_dim, block_dim, .. } = self.grid;
        if block_dim == [threads, 1, 1] {
            return Ok(());
        }
        let detail = Detail::ThreadsOfBlocks { kernel, threads, grid: grid_dim, block: block_dim };
        Err(self.target.refused(self.at, kernel, detail))
    }

    /// Refuses the launch of a kernel in blocks unless the shape of the parameter is that of its memory.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if the shape has not as many elements as the memory.
    #[inline]
    pub fn shaped<T, const D: usize>(
        &self,
        kernel: &'static str,
        parameter: &'static str,
        view: &OwnView<T, D>,
    ) -> Result<()> {
        match misshapen(kernel, parameter, &view.shape(), view.elements()) {
            None => Ok(()),
            Some(detail) => Err(self.target.refused(self.at, kernel, detail)),
        }
    }

    /// Enqueues the kernel. `symbols` are the values of the module's variables, in the order of the kernel's
    /// declaration. They are among `accesses` too.
    ///
    /// # Safety
    /// `params` point to the kernel's parameters, in order. Each has the number of initialised bytes that
    /// `sizes` says, and the kernel stays within `accesses`, each of which is a part of what the lender of the same index
    /// lends.
    ///
    /// # Errors
    /// The configuration is outside the limits, two of `accesses` overlap and one of them writes, `symbols`
    /// differ from those of earlier launches of the run, or the driver refuses.
    pub unsafe fn enqueue(
        self,
        function: &Function,
        params: &mut [*mut c_void],
        sizes: &[usize],
        (accesses, lenders): (&[Access], &[Lender<'_>]),
        symbols: &[Access],
        host: &impl Bodies,
    ) -> Result<()> {
        let Self { target, at, grid } = self;
        let arguments = Arguments { params, sizes, accesses, lenders, symbols };
        // SAFETY: the caller's promise.
        unsafe { target.enqueue(at, function, arguments, host, grid) }
    }
}

// Note 59: each element has exactly one thread.
/// The error if the threads of a grid and the elements of a shape are not one to one, but for threads beyond
/// the ends.
fn uncovered(
    grid: Grid,
    kernel: &'static str,
    parameter: &'static str,
    shape: &[usize],
    elements: usize,
    each_has_one: bool,
) -> Option<Detail> {
    let misshapen = misshapen(kernel, parameter, shape, elements);
    if misshapen.is_some() {
        return misshapen;
    }
    // CUDA's x is the last axis.
    let threads = |axis: usize| u64::from(grid.grid_dim[axis]) * u64::from(grid.block_dim[axis]);
    let needed = |axis: usize| shape.iter().rev().nth(axis).map_or(1, |&length| length as u64);
    let counted = shape.len();
    let enough = (0..counted).all(|axis| threads(axis) >= needed(axis));
    let once = (counted..3).all(|axis| threads(axis) == 1);
    // A grid or a block of 0 is beyond what devices can do, and is refused as such.
    let is_none = grid.grid_dim.iter().chain(&grid.block_dim).any(|&extent| extent == 0);
    // Nobody misses the threads of no elements.
    if is_none || once && (enough || elements == 0 || !each_has_one) {
        return None;
    }
    Some(Detail::NotCovered {
        kernel,
        parameter,
        shape: shape.to_vec(),
        grid: grid.grid_dim,
        block: grid.block_dim,
    })
}

/// The error if a shape has not as many elements as the memory.
fn misshapen(
    kernel: &'static str,
    parameter: &'static str,
    shape: &[usize],
    elements: usize,
) -> Option<Detail> {
    let product = shape.iter().try_fold(1_usize, |product, axis| product.checked_mul(*axis));
    (product != Some(elements)).then(|| Detail::ShapeOfElements {
        kernel,
        parameter,
        shape: shape.to_vec(),
        elements,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_has_exactly_one_thread() {
        let refused = |grid_dim, block_dim, shape: &[usize], elements| {
            let grid = Grid { grid_dim, block_dim, shared: 0 };
            uncovered(grid, "k", "v", shape, elements, true).map(|detail| detail.to_string())
        };
        let one = |grid, shape: &[usize]| refused([grid, 1, 1], [32, 1, 1], shape, shape.iter().product());
        // There are as many threads, more, and none for no elements.
        assert_eq!(one(2, &[64]), None);
        assert_eq!(one(9, &[64]), None);
        assert_eq!(one(1, &[0]), None);
        // The limits of devices refuse a grid of 0.
        assert_eq!(one(0, &[64]), None);
        // Too few, and two threads with one index.
        let said = one(2, &[65]).expect("an element has no thread");
        assert!(said.contains("`v` has 65 elements"), "{said}");
        assert!(said.contains("64 threads"), "{said}");
        let said = refused([2, 2, 1], [32, 1, 1], &[64], 64).expect("two threads have one index");
        assert!(said.contains("one dimension"), "{said}");
        assert!(refused([2, 1, 1], [32, 1, 2], &[64], 64).is_some());
        // The last axis of the shape is x.
        assert_eq!(refused([3, 2, 1], [16, 4, 1], &[8, 48], 384), None);
        assert!(refused([2, 3, 1], [4, 16, 1], &[8, 48], 384).is_some());
        assert_eq!(refused([1, 1, 5], [1, 4, 1], &[5, 4, 1], 20), None);
        // The shape is not that of the memory, or of none that there could be.
        let said = refused([3, 2, 1], [16, 4, 1], &[8, 48], 385).expect("one element is left over");
        assert!(said.contains("[8, 48]") && said.contains("385"), "{said}");
        assert!(refused([1, 1, 1], [1, 1, 1], &[usize::MAX, 2], 0).is_some());
    }
}
