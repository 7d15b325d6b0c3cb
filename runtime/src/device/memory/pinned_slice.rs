//! [`PinnedSlice`] and [`PinnedSliceMut`]: a part of a [`PinnedBuf`], as an argument of a run.

use std::fmt;
use std::ops::{Range, RangeBounds};
use std::sync::Arc;

use bytemuck::Pod;

use super::{PinnedBuf, PinnedCore};
use crate::base::error::{Error, Result};
use crate::device::pending::{Held, Memory, caller};
use crate::device::range::part;
use crate::driver::DevicePtr;

/// A part of a [`PinnedBuf`] that a pipeline reads. [`PinnedBuf::slice`] returns it.
#[derive(Clone, Copy)]
pub struct PinnedSlice<'a, T> {
    buffer: &'a PinnedBuf<T>,
    start: usize,
    len: usize,
}

/// A part of a [`PinnedBuf`] that a pipeline writes. [`PinnedBuf::slice_mut`] returns it.
pub struct PinnedSliceMut<'a, T> {
    buffer: &'a mut PinnedBuf<T>,
    start: usize,
    len: usize,
}

impl<'a, T: Pod> PinnedSlice<'a, T> {
    /// The allocation that it is a part of.
    pub(crate) fn owner(&self) -> &'a Arc<PinnedCore> {
        self.buffer.core()
    }
}

impl<'a, T: Pod> PinnedSliceMut<'a, T> {
    /// The allocation that it is a part of.
    pub(crate) fn owner(self) -> &'a Arc<PinnedCore> {
        self.buffer.core()
    }
}

impl<T: Pod> PinnedBuf<T> {
    /// A part of the buffer for a pipeline to read, as a range of elements. It is page-locked like the whole
    /// buffer. A plain `&buffer[range]` is a slice, which is staged.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// stream_pipeline! {
    ///     pipeline Copy {
    ///         input x: [f32];
    ///         output y: pinned [f32];
    ///         stage over { copy x -> dx; }
    ///         stage back { copy dx -> y; }
    ///     }
    /// }
    ///
    /// let device = Device::simulated(Simulation::default());
    /// let x = PinnedBuf::from_slice(&device, &[1.0, 2.0, 3.0, 4.0])?;
    /// let mut y = PinnedBuf::zeroed(&device, 4)?;
    /// let report = Copy::new(&device)?.run(x.slice(1..3)?, y.slice_mut(..2)?)?;
    /// assert_eq!(&y[..], [2.0, 3.0, 0.0, 0.0]);
    /// assert_eq!(report.bytes_staged, 0);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Shape`](crate::ErrorKind::Shape) if the range is not within the buffer.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<PinnedSlice<'_, T>> {
        let (start, len) = caller("PinnedBuf::slice").located(|| Ok(part(self.elements(), range)?))?;
        Ok(PinnedSlice { buffer: self, start, len })
    }

    /// A part of the buffer for a pipeline to write, as a range of elements.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<PinnedSliceMut<'_, T>> {
        let (start, len) = caller("PinnedBuf::slice_mut").located(|| Ok(part(self.elements(), range)?))?;
        Ok(PinnedSliceMut { buffer: self, start, len })
    }

    /// All of the buffer, as the argument of a run.
    pub(crate) fn range(&self, write: bool) -> PinnedRange {
        PinnedRange::new::<T>(self, 0, self.elements()).settled(write)
    }
}

macro_rules! slices {
    ($($slice:ident),*) => {$(
        impl<T: Pod> $slice<'_, T> {
            /// The number of elements.
            pub fn len(&self) -> usize {
                self.len
            }

            /// Whether there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len == 0
            }

            /// The number of its first element.
            pub(crate) fn start(&self) -> usize {
                self.start
            }

            pub(crate) fn range(&self, write: bool) -> PinnedRange {
                PinnedRange::new::<T>(self.buffer, self.start, self.len).settled(write)
            }
        }

        impl<T: Pod + fmt::Debug> fmt::Debug for $slice<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // A poisoned buffer has no elements any more.
                let elements = self.buffer.get(self.start..self.start + self.len).unwrap_or_default();
                f.debug_list().entries(elements).finish()
            }
        }
    )*};
}
slices!(PinnedSlice, PinnedSliceMut);

/// Some bytes of page-locked memory, borrowed.
#[derive(Clone, Copy)]
pub(crate) struct PinnedPart<'p> {
    pub(crate) core: &'p Arc<PinnedCore>,
    start: usize,
    bytes: usize,
}

impl<'p> PinnedPart<'p> {
    /// Elements of an allocation that has them.
    pub(crate) fn of<T>(core: &'p Arc<PinnedCore>, start: usize, len: usize) -> Self {
        // Neither product is larger than the allocation's bytes.
        Self { core, start: start * size_of::<T>(), bytes: len * size_of::<T>() }
    }

    /// The address of its first byte.
    pub(crate) fn ptr(self) -> *mut u8 {
        // SAFETY: the part is within the allocation.
        unsafe { self.core.ptr.as_ptr().add(self.start) }
    }

    /// The address of its first byte on the device.
    pub(crate) fn device_ptr(self) -> DevicePtr {
        self.core.device_ptr().offset(self.start)
    }

    /// The addresses of all of its bytes on the device.
    pub(crate) fn addresses(self) -> Range<u64> {
        self.device_ptr().range(self.bytes)
    }
}

/// Bytes of page-locked memory. A run holds one, so that the memory can outlive the buffer.
#[derive(Clone)]
pub(crate) struct PinnedRange {
    core: Arc<PinnedCore>,
    start: usize,
    bytes: usize,
    /// Streams are refused as long as a run holds it.
    held: Option<Arc<Held>>,
}

impl PinnedRange {
    fn new<T: Pod>(buffer: &PinnedBuf<T>, start: usize, len: usize) -> Self {
        let PinnedPart { core, start, bytes } = PinnedPart::of::<T>(buffer.core(), start, len);
        Self { core: Arc::clone(core), start, bytes, held: None }
    }

    /// Waits for the operations of streams that use it. If that fails, it is poisoned.
    fn settled(mut self, write: bool) -> Self {
        self.held = Some(Arc::new(Held::new(Arc::clone(&self.core) as _)));
        let uses = self.core.uses();
        if if write { uses.is_used() } else { uses.is_written() } {
            self.core.settle(!write);
        }
        self
    }

    fn part(&self) -> PinnedPart<'_> {
        PinnedPart { core: &self.core, start: self.start, bytes: self.bytes }
    }

    pub(crate) fn core(&self) -> &PinnedCore {
        &self.core
    }

    /// The address of its first byte.
    pub(crate) fn ptr(&self) -> *mut u8 {
        self.part().ptr()
    }

    /// The address of its first byte on the device.
    pub(crate) fn device_ptr(&self) -> DevicePtr {
        self.part().device_ptr()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The error because of which some of it may not hold what a stream's operation was to write.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.core.uses().failure(&self.part().addresses())
    }

    /// Notes that a run has written its first bytes.
    pub(crate) fn is_written_anew(&self, bytes: usize) {
        self.core.uses().are_written_anew(&self.device_ptr().range(bytes.min(self.bytes)));
    }
}
