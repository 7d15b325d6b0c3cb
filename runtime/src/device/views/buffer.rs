//! Parts of a [`DeviceBuf`]: arguments of runs, of streams' operations and of launches by hand. They are
//! copied like the whole buffer.

use std::ops::RangeBounds;
use std::sync::Arc;

use bytemuck::Pod;

use super::slice::{DeviceSlice, DeviceSliceMut};
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Result};
use crate::device::memory::{DeviceBuf, DeviceCore, Direction};
use crate::device::pending::caller;
use crate::device::range::part;

impl<T: Pod> DeviceBuf<T> {
    /// A part of the buffer to read, as a range of elements. Runs, [streams](crate::streams) and launches by
    /// hand accept the part wherever they accept the whole buffer.
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg::streams::Stream;
    ///
    /// stream_pipeline! {
    ///     pipeline Copy {
    ///         input x: device [f32];
    ///         output y: device [f32];
    ///         stage over { copy x -> y; }
    ///     }
    /// }
    ///
    /// let device = Device::simulated(Simulation::h200());
    /// let x = DeviceBuf::from_slice(&device, &[1.0, 2.0, 3.0, 4.0])?;
    /// let mut y = DeviceBuf::zeroed(&device, 4)?;
    /// Copy::new(&device)?.run(x.slice(2..)?, y.slice_mut(..2)?)?;
    /// Stream::new(&device)?.copy(x.slice(..1)?, y.slice_mut(3..)?)?;
    /// assert_eq!(y.to_vec()?, [3.0, 4.0, 0.0, 1.0]);
    /// assert_eq!(y.slice(1..3)?.to_vec()?, [4.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// A run, or a copy that is waited for, holds the whole buffer while it lasts. Until then streams are
    /// refused with [`ErrorKind::Misuse`].
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if the range is not within the buffer.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<DeviceSlice<'_, T>> {
        let (start, len) = caller("DeviceBuf::slice").located(|| Ok(part(self.len(), range)?))?;
        let ptr = self.core().tracked().offset(start * size_of::<T>());
        Ok(DeviceSlice::of(Some(self.core()), ptr, len))
    }

    /// A part of the buffer to write, and to read, as a range of elements.
    /// [`split_at_mut`](DeviceSliceMut::split_at_mut) makes two parts of it, for example for two runs at
    /// once.
    ///
    /// Parts that overlap do not compile:
    ///
    /// ```compile_fail,E0499
    /// fn twice(d: &mut thalweg::DeviceBuf<f32>) -> thalweg::Result<()> {
    ///     let (first, second) = (d.slice_mut(..2)?, d.slice_mut(1..)?);
    ///     drop((first, second));
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<DeviceSliceMut<'_, T>> {
        let (start, len) = caller("DeviceBuf::slice_mut").located(|| Ok(part(self.len(), range)?))?;
        let ptr = self.core().tracked().offset(start * size_of::<T>());
        Ok(DeviceSliceMut::of(Some(self.core()), ptr, len))
    }
}

impl<T: Pod> DeviceSlice<'_, T> {
    /// A copy of all elements, as [`DeviceBuf::to_vec`].
    ///
    /// # Errors
    /// Those of [`DeviceBuf::to_vec`], and [`ErrorKind::Misuse`] if the slice is memory of a run and not part
    /// of a `DeviceBuf`.
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut data = vec![T::zeroed(); self.len()];
        caller("DeviceSlice::to_vec").located(|| self.copy_out(&mut data))?;
        Ok(data)
    }

    /// Copies all elements to `data`, as long as the slice. After an error `data` may hold some of them.
    ///
    /// # Errors
    /// Those of [`to_vec`](Self::to_vec), and [`ErrorKind::Shape`] if `data` has another length.
    #[track_caller]
    pub fn copy_to_slice(&self, data: &mut [T]) -> Result<()> {
        caller("DeviceSlice::copy_to_slice").located(|| self.copy_out(data))
    }

    fn copy_out(&self, data: &mut [T]) -> Result<()> {
        let (core, len) = (owner(self.owner())?, data.len());
        // SAFETY: the memory is a part of the owner's. The slice has `len` elements, and is borrowed mutably.
        unsafe { core.copy(self.address(), self.len(), (data.as_mut_ptr(), len), Direction::Out) }
    }
}

impl<T: Pod> DeviceSliceMut<'_, T> {
    /// A copy of all elements, as [`DeviceBuf::to_vec`].
    ///
    /// # Errors
    /// As [`DeviceSlice::to_vec`].
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut data = vec![T::zeroed(); self.len()];
        caller("DeviceSliceMut::to_vec").located(|| self.as_slice().copy_out(&mut data))?;
        Ok(data)
    }

    /// Copies `data`, as long as the slice, to the device. After an error the slice may hold some of it.
    ///
    /// # Errors
    /// Those of [`DeviceBuf::copy_from_slice`], and [`ErrorKind::Misuse`] if the slice is memory of a run and
    /// not part of a `DeviceBuf`.
    #[track_caller]
    pub fn copy_from_slice(&mut self, data: &[T]) -> Result<()> {
        caller("DeviceSliceMut::copy_from_slice").located(|| {
            let from = (data.as_ptr().cast_mut(), data.len());
            // SAFETY: the memory is a part of the owner's, and is borrowed mutably. The slice has as many
            // elements as it says, and is only read.
            unsafe { owner(self.owner())?.copy(self.address(), self.len(), from, Direction::In) }
        })
    }
}

/// The allocation that a part belongs to.
pub(crate) fn owner(owner: Option<&Arc<DeviceCore>>) -> Result<&Arc<DeviceCore>> {
    owner.ok_or_else(|| Detail::OfARun.into())
}
