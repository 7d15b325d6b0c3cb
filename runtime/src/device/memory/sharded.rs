//! [`Sharded`] and [`Replicated`]: memory on several devices.

use bytemuck::Pod;

use super::DeviceBuf;
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Result};
use crate::device::Device;
use crate::device::devices::{Devices, check};
use crate::device::pending::caller;

/// Items of which a part of equal parts has a multiple, so that chunks of usual sizes fit.
const GRAIN: usize = 1 << 12;

/// Device memory in parts, one on each of several devices: a `device` argument of a pipeline that is built on them.
///
/// A chunk goes to the device that has its part. All arguments in parts have to be divided at the same items, and each
/// part but the last has whole chunks.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg::sim::MachineModel;
/// use thalweg::Sharded;
/// use thalweg_kernels::saxpy;
///
/// stream_pipeline! {
///     /// `y <- a * x + y`, where both are.
///     pipeline Saxpy {
///         param a: f32;
///         input x: device [f32];
///         inout y: device [f32];
///         chunk c = auto;
///         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &x, &mut y); }
///     }
/// }
///
/// let devices = Device::simulated_machine(MachineModel::h200(2));
/// let x = Sharded::from_slice(&devices, &[1.0; 10_000])?;
/// let mut y = Sharded::from_slice(&devices, &[2.0; 10_000])?;
/// let report = Saxpy::new(&devices)?.run(3.0, &x, &mut y)?;
/// assert_eq!(y.to_vec()?, [5.0; 10_000]);
/// assert_eq!((report.bytes_to_device, report.parts[1].items), (0, 10_000 - x.parts()[0].len()));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Sharded<T> {
    parts: Vec<DeviceBuf<T>>,
}

/// Device memory with the same contents on each of several devices: a `resident … device` argument of a pipeline that is
/// built on them.
///
/// ```
/// use thalweg::sim::MachineModel;
/// use thalweg::{Device, Replicated};
///
/// let devices = Device::simulated_machine(MachineModel::h200(2));
/// let table = Replicated::from_slice(&devices, &[1.0, 2.0, 3.0])?;
/// assert_eq!(table.copies()[1].to_vec()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), thalweg::Error>(())
/// ```
#[derive(Debug)]
pub struct Replicated<T> {
    copies: Vec<DeviceBuf<T>>,
}

/// The devices of a list, each once.
fn list(devices: &(impl Devices + ?Sized)) -> Result<Vec<Device>> {
    let devices = devices.list();
    check(&devices)?;
    Ok(devices)
}

/// The lengths of equal parts, in multiples of [`GRAIN`]: the last one has the rest.
fn equal(len: usize, parts: usize) -> Vec<usize> {
    let each = len.div_ceil(parts);
    let each = each.checked_next_multiple_of(GRAIN).unwrap_or(each);
    (0..parts)
        .map(|part| len.min(each.saturating_mul(part + 1)) - len.min(each.saturating_mul(part)))
        .collect()
}

impl<T: Pod> Sharded<T> {
    /// `len` elements, all zero, in about equal parts.
    ///
    /// # Errors
    /// The list is empty or has a device twice ([`ErrorKind::Misuse`]); also those of [`DeviceBuf::zeroed`].
    #[track_caller]
    pub fn zeroed(devices: &(impl Devices + ?Sized), len: usize) -> Result<Self> {
        caller("Sharded::zeroed").located(|| Self::zeros(devices, len, 1))
    }

    /// `items` items of `per_item` elements each, all zero, in parts of about as many items: for an argument
    /// `device [T; per_item]`, which is divided at the same items as others of so many items.
    ///
    /// # Errors
    /// Those of [`zeroed`](Self::zeroed).
    #[track_caller]
    pub fn zeroed_items(devices: &(impl Devices + ?Sized), items: usize, per_item: usize) -> Result<Self> {
        caller("Sharded::zeroed_items").located(|| Self::zeros(devices, items, per_item))
    }

    fn zeros(devices: &(impl Devices + ?Sized), items: usize, per_item: usize) -> Result<Self> {
        let devices = list(devices)?;
        let lens = equal(items, devices.len()).into_iter().map(|items| items.saturating_mul(per_item));
        let parts = devices.iter().zip(lens).map(|(device, len)| DeviceBuf::zeroed(device, len));
        Ok(Self { parts: parts.collect::<Result<_>>()? })
    }

    /// A copy of `data`, in about equal parts.
    ///
    /// # Errors
    /// Those of [`zeroed`](Self::zeroed) and of [`DeviceBuf::from_slice`].
    #[track_caller]
    pub fn from_slice(devices: &(impl Devices + ?Sized), data: &[T]) -> Result<Self> {
        caller("Sharded::from_slice").located(|| Self::copied(devices, data, 1))
    }

    /// A copy of `data`, items of `per_item` elements each, in parts of about as many items, as in
    /// [`zeroed_items`](Self::zeroed_items).
    ///
    /// # Errors
    /// `data` has no whole number of items ([`ErrorKind::Shape`]); also those of [`from_slice`](Self::from_slice).
    #[track_caller]
    pub fn from_items(devices: &(impl Devices + ?Sized), data: &[T], per_item: usize) -> Result<Self> {
        caller("Sharded::from_items").located(|| Self::copied(devices, data, per_item))
    }

    fn copied(devices: &(impl Devices + ?Sized), data: &[T], per_item: usize) -> Result<Self> {
        let devices = list(devices)?;
        let items = data.len().checked_div(per_item).unwrap_or(0);
        if items * per_item != data.len() {
            return Err(Detail::CopyLength { from: data.len(), to: items * per_item }.into());
        }
        let (mut rest, mut parts) = (data, Vec::with_capacity(devices.len()));
        for (device, items) in devices.iter().zip(equal(items, devices.len())) {
            let (part, after) = rest.split_at(items * per_item);
            parts.push(DeviceBuf::from_slice(device, part)?);
            rest = after;
        }
        Ok(Self { parts })
    }

    /// These parts, one after another, of any lengths.
    ///
    /// # Errors
    /// There is no part, or two are on the same device ([`ErrorKind::Misuse`]).
    #[track_caller]
    pub fn from_parts(parts: Vec<DeviceBuf<T>>) -> Result<Self> {
        caller("Sharded::from_parts").located(|| {
            let devices: Vec<_> = parts.iter().map(|part| part.device().clone()).collect();
            check(&devices)?;
            Ok(Self { parts })
        })
    }

    /// Copies all elements to `data`, as long as all parts together.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if `data` has another length; also those of [`DeviceBuf::to_vec`].
    #[track_caller]
    pub fn copy_to_slice(&self, data: &mut [T]) -> Result<()> {
        caller("Sharded::copy_to_slice").located(|| self.copy_out(data))
    }

    /// A copy of all elements.
    ///
    /// # Errors
    /// Those of [`DeviceBuf::to_vec`].
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut data = vec![T::zeroed(); self.len()];
        caller("Sharded::to_vec").located(|| self.copy_out(&mut data))?;
        Ok(data)
    }

    fn copy_out(&self, mut data: &mut [T]) -> Result<()> {
        if data.len() != self.len() {
            return Err(Detail::CopyLength { from: self.len(), to: data.len() }.into());
        }
        for part in &self.parts {
            let (own, rest) = data.split_at_mut(part.len());
            part.copy_to_slice(own)?;
            data = rest;
        }
        Ok(())
    }

    /// Copies `data`, as long as all parts together, to the devices.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if `data` has another length; also those of [`DeviceBuf::copy_from_slice`].
    #[track_caller]
    pub fn copy_from_slice(&mut self, data: &[T]) -> Result<()> {
        caller("Sharded::copy_from_slice").located(|| {
            if data.len() != self.len() {
                return Err(Detail::CopyLength { from: data.len(), to: self.len() }.into());
            }
            let mut rest = data;
            for part in &mut self.parts {
                let (own, after) = rest.split_at(part.len());
                part.copy_from_slice(own)?;
                rest = after;
            }
            Ok(())
        })
    }

    /// Length of all parts together, in elements.
    pub fn len(&self) -> usize {
        // Only elements without bytes could be so many.
        self.parts.iter().map(DeviceBuf::len).fold(0, usize::saturating_add)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Sharded<T> {
    /// The parts, in order.
    pub fn parts(&self) -> &[DeviceBuf<T>] {
        &self.parts
    }

    /// The parts, to write.
    pub fn parts_mut(&mut self) -> &mut [DeviceBuf<T>] {
        &mut self.parts
    }

    /// The parts, one for each device.
    pub fn into_parts(self) -> Vec<DeviceBuf<T>> {
        self.parts
    }
}

impl<T: Pod> Replicated<T> {
    /// A copy of `data` on each device: from the host to the first one, and from there to the others, as
    /// [`DeviceBuf::copy_to`] does.
    ///
    /// # Errors
    /// The list is empty or has a device twice ([`ErrorKind::Misuse`]); also those of [`DeviceBuf::from_slice`] and
    /// [`DeviceBuf::copy_to`].
    #[track_caller]
    pub fn from_slice(devices: &(impl Devices + ?Sized), data: &[T]) -> Result<Self> {
        caller("Replicated::from_slice").located(|| {
            let devices = list(devices)?;
            let mut copies: Vec<DeviceBuf<T>> = Vec::with_capacity(devices.len());
            for device in &devices {
                let copy = match copies.first() {
                    None => DeviceBuf::from_slice(device, data)?,
                    Some(first) => {
                        let mut copy = DeviceBuf::zeroed(device, data.len())?;
                        first.copy_to(&mut copy)?;
                        copy
                    }
                };
                copies.push(copy);
            }
            Ok(Self { copies })
        })
    }

    /// These buffers, which have the same contents.
    ///
    /// # Errors
    /// There is none, or two are on the same device ([`ErrorKind::Misuse`]); they differ in length
    /// ([`ErrorKind::Shape`]).
    #[track_caller]
    pub fn from_copies(copies: Vec<DeviceBuf<T>>) -> Result<Self> {
        caller("Replicated::from_copies").located(|| {
            let devices: Vec<_> = copies.iter().map(|copy| copy.device().clone()).collect();
            check(&devices)?;
            let from = copies.first().map_or(0, DeviceBuf::len);
            match copies.iter().find(|copy| copy.len() != from) {
                Some(other) => Err(Detail::CopyLength { from, to: other.len() }.into()),
                None => Ok(Self { copies }),
            }
        })
    }

    /// Copies `data`, as long as each copy, to all devices.
    ///
    /// # Errors
    /// [`ErrorKind::Shape`] if `data` has another length; also those of [`from_slice`](Self::from_slice). After an error
    /// the copies may differ.
    #[track_caller]
    pub fn copy_from_slice(&mut self, data: &[T]) -> Result<()> {
        caller("Replicated::copy_from_slice").located(|| {
            let Some((first, others)) = self.copies.split_first_mut() else { return Ok(()) };
            first.copy_from_slice(data)?;
            others.iter_mut().try_for_each(|copy| first.copy_to(copy))
        })
    }

    /// Length of each copy, in elements.
    pub fn len(&self) -> usize {
        self.copies.first().map_or(0, DeviceBuf::len)
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Replicated<T> {
    /// The copies, one for each device.
    pub fn copies(&self) -> &[DeviceBuf<T>] {
        &self.copies
    }

    /// The copies, one for each device.
    pub fn into_copies(self) -> Vec<DeviceBuf<T>> {
        self.copies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_parts_have_whole_grains() {
        assert_eq!(equal(3 * GRAIN, 3), [GRAIN; 3]);
        assert_eq!(equal(2 * GRAIN + 1, 2), [2 * GRAIN, 1]);
        assert_eq!(equal(10, 3), [10, 0, 0]);
        assert_eq!(equal(0, 2), [0, 0]);
        assert_eq!(equal(usize::MAX, 2).iter().sum::<usize>(), usize::MAX);
    }
}
