//! Kernels on streams.

use std::ffi::c_void;

use super::core::{Used, caller};
use super::memory::used;
use super::operation::{Bodies, Operation};
use super::stream::Stream;
use super::uses::Caller;
use crate::driver::{Access, RawLaunch};
use crate::error::{Error, ErrorKind, Result};
use crate::extent::{Axis, Extent};
use crate::function::{Function, check_limits};
use crate::kernel::Grid;
use crate::launch::sealed::Argument;
use crate::launch::{Launch, ReadArg, ReadWriteArg, View, ViewMut, WriteArg, aliases};
use crate::memory::{DeviceBuf, PinnedBuf};
use bytemuck::Pod;

/// A launch on a stream in the user's hands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ByHand<'s> {
    stream: &'s Stream,
    at: Caller,
}

impl Stream {
    /// The configuration of a launch here, `<<<grid, block, shared, stream>>>`, the first argument of a kernel's `launch`.
    /// `grid` and `block` are `n`, `(x, y)` or `(x, y, z)`; `shared` is in bytes.
    ///
    /// ```
    /// use thalweg::{Device, DeviceBuf, Spec, Stream, blocks};
    /// use thalweg_kernels::saxpy;
    ///
    /// let device = Device::simulated(Spec::h200());
    /// let (stream, saxpy) = (Stream::new(&device)?, saxpy::load(&device)?);
    /// let x = DeviceBuf::from_slice(&device, &[1.0_f32; 1000])?;
    /// let mut y = DeviceBuf::from_slice(&device, &[2.0_f32; 1000])?;
    /// saxpy.launch(stream.config(blocks(1000, 256), 256, 0), 1000, 3.0, &x, &mut y)?;
    /// assert_eq!(y.to_vec()?, [5.0; 1000]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[track_caller]
    pub fn config(&self, grid: impl Extent, block: impl Extent, shared: impl Axis) -> Launch<'_> {
        let grid = Grid { grid_dim: grid.extent(), block_dim: block.extent(), shared: shared.axis() };
        Launch::by_hand(ByHand { stream: self, at: caller("a launch") }, grid)
    }
}

impl ByHand<'_> {
    /// An error of a kernel's launch.
    #[cold]
    pub(crate) fn fail<T>(&self, kernel: Option<&'static str>, kind: impl Into<Error>) -> Result<T> {
        Err(kind.into().at(self.of(kernel.unwrap_or(self.at.what)).place()))
    }

    fn of(&self, kernel: &'static str) -> Caller {
        Caller { what: kernel, ..self.at }
    }

    /// Enqueues a kernel.
    ///
    /// # Safety
    /// As [`Launch::enqueue`].
    pub(crate) unsafe fn enqueue(
        self,
        function: &Function,
        params: &mut [*mut c_void],
        (sizes, accesses, symbols): (&[usize], &[Access], &[Access]),
        bodies: &dyn Bodies,
        grid: Grid,
    ) -> Result<()> {
        let (name, device) = (function.name, self.stream.device());
        let result = (|| {
            check_limits(function, grid)?;
            if aliases(accesses) {
                return Err(ErrorKind::Aliased { kernel: name }.into());
            }
            device.check_stream(name, &function.device)?;
            if function.own.is_some() || !symbols.is_empty() {
                return Err(ErrorKind::SymbolsByHand { kernel: name }.into());
            }
            let memory = accesses.iter().filter(|access| access.bytes > 0);
            let memory = memory.map(|access| {
                let used = used(device, access.ptr.range(access.bytes), access.write)?;
                Ok(Used { anew: access.anew, ..used })
            });
            let memory = memory.collect::<Result<Vec<Used>>>()?;
            let launch = RawLaunch {
                function: function.raw,
                grid: grid.grid_dim,
                block: grid.block_dim,
                shared: grid.shared,
                params,
                sizes,
                accesses,
                host: &|| bodies.body(grid),
            };
            let operation = Operation::Launch { launch, bodies, grid };
            // SAFETY: the memory was found among the device's; the rest is the caller's promise. The function's module stays as
            // long as the device: only those with symbols have one of their own.
            unsafe { self.stream.enqueue(self.of(name), &memory, operation) }
        })();
        result.map_err(|error: Error| error.at(self.of(name).place()))
    }
}

impl<T: Pod> Argument for &DeviceBuf<T> {}
impl<T: Pod> Argument for &mut DeviceBuf<T> {}
impl<T: Pod> Argument for &PinnedBuf<T> {}
impl<T: Pod> Argument for &mut PinnedBuf<T> {}

impl<T: Pod> ReadArg<T> for &DeviceBuf<T> {
    fn view(self) -> View<T> {
        View::new(self.core().tracked(), self.len())
    }
}
impl<T: Pod> ReadWriteArg<T> for &mut DeviceBuf<T> {
    fn view(self) -> ViewMut<T> {
        ViewMut::new(self.core().tracked(), self.len())
    }
}
impl<T: Pod> WriteArg<T> for &mut DeviceBuf<T> {
    fn view(self) -> ViewMut<T> {
        ViewMut::out(self.core().tracked(), self.len())
    }
}

// Page-locked memory is mapped: kernels reach it over the link.
impl<T: Pod> ReadArg<T> for &PinnedBuf<T> {
    fn view(self) -> View<T> {
        View::new(self.core().tracked(), self.elements())
    }
}
impl<T: Pod> ReadWriteArg<T> for &mut PinnedBuf<T> {
    fn view(self) -> ViewMut<T> {
        ViewMut::new(self.core().tracked(), self.elements())
    }
}
impl<T: Pod> WriteArg<T> for &mut PinnedBuf<T> {
    fn view(self) -> ViewMut<T> {
        ViewMut::out(self.core().tracked(), self.elements())
    }
}
