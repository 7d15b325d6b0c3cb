//! Parts of buffers, and of device slices that routines hand on to other routines.

use std::ops::RangeBounds;

use super::slice::{DeviceSlice, DeviceSliceMut, DeviceSliceOut};
use crate::device::range::part;
use crate::driver::DevicePtr;

/// The address and the number of elements of a part of `len` elements at `address`; `None` if the range goes
/// beyond them.
fn part_at<T>(address: u64, len: usize, range: impl RangeBounds<usize>) -> Option<(DevicePtr, usize)> {
    let (start, elements) = part(len, range).ok()?;
    // The part is within the slice, so its bytes are within an allocation and do not overflow.
    Some((DevicePtr(address).offset(start * size_of::<T>()), elements))
}

impl<T> Clone for DeviceSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceSlice<'_, T> {}

impl<'r, T> DeviceSlice<'r, T> {
    /// The elements of a range; `None` if it goes beyond the slice.
    ///
    /// ```
    /// use thalweg::prelude::*;
    ///
    /// /// `y <- x`, the halves exchanged, by two calls of another routine.
    /// fn exchanged(queue: &Enqueue<'_>, x: DeviceSlice<'_, u8>, mut y: DeviceSliceOut<'_, u8>) -> thalweg::Result<()> {
    ///     let half = x.len() / 2;
    ///     let (Some(low), Some(high)) = (x.get(..half), x.get(half..)) else { unreachable!() };
    ///     let Some((first, second)) = y.split_at_mut(x.len() - half) else {
    ///         return Err(Error::routine("exchanged", "y is too short"));
    ///     };
    ///     copied(queue, high, first)?;
    ///     copied(queue, low, second)
    /// }
    ///
    /// fn copied(queue: &Enqueue<'_>, x: DeviceSlice<'_, u8>, y: DeviceSliceOut<'_, u8>) -> thalweg::Result<()> {
    ///     queue.simulate((x, y), |(x, y)| y.copy_from_slice(x))
    /// }
    ///
    /// stream_pipeline! {
    ///     pipeline Exchanged {
    ///         input x: [u8];
    ///         output y: [u8];
    ///         device dy: [u8];
    ///         stage all { copy x -> dx; call exchanged(&dx, out dy); copy dy -> y; }
    ///     }
    /// }
    ///
    /// let mut y = [0; 5];
    /// Exchanged::new(&Device::simulated(Simulation::default()))?.run(b"abcde", &mut y)?;
    /// assert_eq!(&y, b"cdeab");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn get(&self, range: impl RangeBounds<usize>) -> Option<Self> {
        let (ptr, len) = part_at::<T>(self.address(), self.len(), range)?;
        Some(DeviceSlice::of(self.owner(), ptr, len))
    }

    /// The elements before `mid`, and those from `mid` on; `None` if `mid` is beyond the end.
    pub fn split_at(&self, mid: usize) -> Option<(Self, Self)> {
        Some((self.get(..mid)?, self.get(mid..)?))
    }
}

impl<'r, T> DeviceSliceMut<'r, T> {
    /// The same memory for a kernel's parameter `Out`: the launch writes all of it and reads nothing.
    ///
    /// ```
    /// use thalweg::kernel::blocks;
    /// use thalweg::sim::Simulation;
    /// use thalweg::streams::Stream;
    /// use thalweg::{Device, DeviceBuf};
    /// use thalweg_kernels::add_f32;
    ///
    /// let device = Device::simulated(Simulation::h200());
    /// let (stream, add) = (Stream::new(&device)?, add_f32::load(&device)?);
    /// let x = DeviceBuf::from_slice(&device, &[1.0; 4])?;
    /// let mut z = DeviceBuf::from_slice(&device, &[0.0; 6])?;
    /// add.launch(stream.config(blocks(4, 256), 256, 0), &x, &x, z.slice_mut(2..)?.into_out())?;
    /// assert_eq!(z.to_vec()?, [0.0, 0.0, 2.0, 2.0, 2.0, 2.0]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    pub fn into_out(self) -> DeviceSliceOut<'r, T> {
        DeviceSliceOut::of(self.owner(), DevicePtr(self.address()), self.len())
    }

    /// All elements, to read, as long as this is borrowed.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::of(self.owner(), DevicePtr(self.address()), self.len())
    }

    /// The elements of a range, to read; `None` if it goes beyond the slice.
    pub fn get(&self, range: impl RangeBounds<usize>) -> Option<DeviceSlice<'_, T>> {
        self.as_slice().get(range)
    }
}

impl<'r, T> DeviceSliceOut<'r, T> {
    /// The same memory to read and write, for use in a routine after it has written all of it.
    pub fn into_mut(self) -> DeviceSliceMut<'r, T> {
        DeviceSliceMut::of(self.owner(), DevicePtr(self.address()), self.len())
    }
}

// Parts that are written borrow the slice mutably, so two that exist at once do not overlap.
macro_rules! parts_to_write {
    ($($type:ident),*) => {$(
        impl<T> $type<'_, T> {
            /// All elements, to hand on, as long as this is borrowed.
            pub fn reborrow(&mut self) -> $type<'_, T> {
                $type::of(self.owner(), DevicePtr(self.address()), self.len())
            }

            /// The elements of a range, to write; `None` if it goes beyond the slice.
            pub fn get_mut(&mut self, range: impl RangeBounds<usize>) -> Option<$type<'_, T>> {
                let (ptr, len) = part_at::<T>(self.address(), self.len(), range)?;
                Some($type::of(self.owner(), ptr, len))
            }

            /// The elements before `mid`, and those from `mid` on; `None` if `mid` is beyond the end.
            ///
            /// Parts that overlap do not compile:
            ///
            /// ```compile_fail,E0499
            #[doc = concat!("fn twice(mut x: thalweg::", stringify!($type), "<'_, f32>) {")]
            ///     let (first, second) = (x.get_mut(..2), x.get_mut(1..));
            ///     drop((first, second));
            /// }
            /// ```
            pub fn split_at_mut(&mut self, mid: usize) -> Option<($type<'_, T>, $type<'_, T>)> {
                let (ptr, low) = part_at::<T>(self.address(), self.len(), ..mid)?;
                let (at_mid, high) = part_at::<T>(self.address(), self.len(), mid..)?;
                Some(($type::of(self.owner(), ptr, low), $type::of(self.owner(), at_mid, high)))
            }
        }
    )*};
}
parts_to_write!(DeviceSliceMut, DeviceSliceOut);

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::*;

    #[test]
    fn a_part_is_within_the_whole() {
        let x: DeviceSlice<'_, u32> = DeviceSlice::new(DevicePtr(1024), 5);
        let parts = |range| x.get(range).map(|part| (part.address(), part.len()));
        assert_eq!(parts(0..5), Some((1024, 5)));
        assert_eq!(parts(2..4), Some((1032, 2)));
        assert_eq!(parts(5..5), Some((1044, 0)));
        assert_eq!((parts(3..6), parts(6..6)), (None, None));
        #[allow(clippy::reversed_empty_ranges, reason = "a range that ends before it begins")]
        let reversed = parts(4..3);
        assert_eq!(reversed, None);
        assert_eq!(x.get(1..=2).map(|part| (part.address(), part.len())), Some((1028, 2)));
        assert!(x.get(0..=usize::MAX).is_none() && x.get(..=4).is_some());
        assert!(x.get((Bound::Excluded(usize::MAX), Bound::Unbounded)).is_none());
    }

    #[test]
    fn the_halves_of_what_is_written_do_not_overlap() {
        let mut x: DeviceSliceMut<'_, u16> = DeviceSliceMut::new(DevicePtr(512), 7);
        for mid in 0..=7 {
            let (low, high) = x.split_at_mut(mid).expect("within the slice");
            assert_eq!((low.address(), low.len(), high.len()), (512, mid, 7 - mid));
            assert_eq!(high.address(), low.address() + 2 * mid as u64);
        }
        assert!(x.split_at_mut(8).is_none());
    }
}
