//! Kernel launches on streams.

use super::stream::Stream;
use crate::base::error::{Detail, Error, Result};
use crate::base::extent::{Axis, Extent};
use crate::base::threads::Grid;
use crate::device::function::{Function, check_limits};
use crate::device::launch::{
    Arguments, Borrowed, Launch, LaunchTarget, Lender, ReadArg, ReadWriteArg, View, ViewMut, WriteArg,
    aliases, grouped,
};
use crate::device::memory::{DeviceBuf, PinnedBuf};
use crate::device::pending::{Caller, caller};
use crate::driver::{Bodies, Command};
use bytemuck::Pod;
use smallvec::SmallVec;

impl Stream {
    /// The configuration of a launch here, `<<<grid, block, shared, stream>>>`, the first argument of a
    /// kernel's `launch`. `grid` and `block` are `n`, `(x, y)` or `(x, y, z)`; `shared` is in bytes.
    ///
    /// ```
    /// use thalweg::kernel::blocks;
    /// use thalweg::sim::Simulation;
    /// use thalweg::streams::Stream;
    /// use thalweg::{Device, DeviceBuf};
    /// use thalweg_kernels::saxpy;
    ///
    /// let device = Device::simulated(Simulation::h200());
    /// let (stream, saxpy) = (Stream::new(&device)?, saxpy::load(&device)?);
    /// let x = DeviceBuf::from_slice(&device, &[1.0_f32; 1000])?;
    /// let mut y = DeviceBuf::from_slice(&device, &[2.0_f32; 1000])?;
    /// saxpy.launch(stream.config(blocks(1000, 256), 256, 0), 3.0, &x, &mut y)?;
    /// assert_eq!(y.to_vec()?, [5.0; 1000]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn config(&self, grid: impl Extent, block: impl Extent, shared: impl Axis) -> Launch<'_> {
        let grid = Grid { grid_dim: grid.extent(), block_dim: block.extent(), shared: shared.axis() };
        Launch::new(self, caller("a launch"), grid)
    }
}

impl LaunchTarget for Stream {
    #[cold]
    fn refused(&self, at: Caller, kernel: &'static str, detail: Detail) -> Error {
        Error::new(detail).at(Caller { what: kernel, ..at }.place())
    }

    unsafe fn enqueue(
        &self,
        at: Caller,
        function: &Function,
        arguments: Arguments<'_>,
        bodies: &dyn Bodies,
        grid: Grid,
    ) -> Result<()> {
        let (name, device) = (function.name, self.device());
        let at = Caller { what: name, ..at };
        let result = (|| {
            check_limits(function, grid)?;
            if aliases(arguments.accesses) {
                return Err(Detail::Aliased { kernel: name }.into());
            }
            device.check_stream(name, &function.device)?;
            if !function.symbols.is_empty() || !arguments.symbols.is_empty() {
                return Err(Detail::SymbolsByHand { kernel: name }.into());
            }
            let mut memory = SmallVec::<[_; 4]>::new();
            for (access, lender) in arguments.accesses.iter().zip(arguments.lenders) {
                if access.bytes > 0 {
                    memory.push(lender.used(device, access)?);
                }
            }
            let launch = arguments.launch(function, grid, bodies);
            let kernels = function.launched_by_hand().map(std::slice::from_ref).unwrap_or_default();
            // SAFETY: the memory is the device's, and was borrowed; the rest is the caller's promise. The
            // function's module stays as long as the device: those without symbols do, or were told to above.
            unsafe { self.enqueue_kernels(at, &memory, Command::Launch(&launch), kernels) }
        })();
        result.map_err(|error: Error| error.at(at.place()))
    }
}

// These are written out, since rustc shows them to whoever passes another type.
impl<T: Pod> ReadArg<T> for &DeviceBuf<T> {
    fn lend<'p>(self) -> Borrowed<'p, View<T>>
    where
        Self: 'p,
    {
        let core = self.core();
        Borrowed::new(View::new(core.tracked(), self.len()), Lender::new(core.device(), core))
    }
}
impl<T: Pod> ReadWriteArg<T> for &mut DeviceBuf<T> {
    fn lend<'p>(self) -> Borrowed<'p, ViewMut<T>>
    where
        Self: 'p,
    {
        let core = self.core();
        Borrowed::new(ViewMut::new(core.tracked(), self.len()), Lender::new(core.device(), core))
    }
}
impl<T: Pod> WriteArg<T> for &mut DeviceBuf<T> {
    fn lend<'p>(self) -> Borrowed<'p, ViewMut<T>>
    where
        Self: 'p,
    {
        let core = self.core();
        Borrowed::new(ViewMut::out(core.tracked(), self.len()), Lender::new(core.device(), core))
    }
}

grouped!(['a, T: Pod] &'a DeviceBuf<T>, &'a mut DeviceBuf<T>, &'a mut DeviceBuf<T>);
grouped!(['a, T: Pod] &'a PinnedBuf<T>, &'a mut PinnedBuf<T>, &'a mut PinnedBuf<T>);

// Page-locked memory is mapped: kernels reach it over the link.
impl<T: Pod> ReadArg<T> for &PinnedBuf<T> {
    fn lend<'p>(self) -> Borrowed<'p, View<T>>
    where
        Self: 'p,
    {
        let core = self.core();
        Borrowed::new(View::new(core.device_ptr(), self.elements()), Lender::new(core.device(), core))
    }
}
impl<T: Pod> ReadWriteArg<T> for &mut PinnedBuf<T> {
    fn lend<'p>(self) -> Borrowed<'p, ViewMut<T>>
    where
        Self: 'p,
    {
        let core = self.core();
        Borrowed::new(ViewMut::new(core.device_ptr(), self.elements()), Lender::new(core.device(), core))
    }
}
impl<T: Pod> WriteArg<T> for &mut PinnedBuf<T> {
    fn lend<'p>(self) -> Borrowed<'p, ViewMut<T>>
    where
        Self: 'p,
    {
        let core = self.core();
        Borrowed::new(ViewMut::out(core.device_ptr(), self.elements()), Lender::new(core.device(), core))
    }
}
