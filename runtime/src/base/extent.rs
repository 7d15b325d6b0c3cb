//! The extents of a launch's grid and block.

/// One extent of a grid or block: any of Rust's integers up to 64 bits. Values out of range become ones that
/// the launch refuses ([`ErrorKind::Limit`](crate::ErrorKind::Limit)): a negative value becomes 0, and a
/// value beyond `u32` becomes `u32::MAX`.
///
/// ```
/// use thalweg::sim::Simulation;
/// use thalweg::streams::Stream;
/// use thalweg::{Device, DeviceBuf, ErrorKind};
/// use thalweg_kernels::saxpy;
///
/// let device = Device::simulated(Simulation::h200());
/// let (stream, saxpy) = (Stream::new(&device)?, saxpy::load(&device)?);
/// let x = DeviceBuf::from_slice(&device, &[1.0_f32; 8])?;
/// let mut y = DeviceBuf::from_slice(&device, &[2.0_f32; 8])?;
/// saxpy.launch(stream.config(1_usize, 8_u8, 0), 3.0, &x, &mut y)?;
///
/// let refused = saxpy.launch(stream.config(-1, 8, 0), 3.0, &x, &mut y).unwrap_err();
/// assert!(matches!(refused.kind(), ErrorKind::Limit(_)));
/// assert_eq!(y.to_vec()?, [5.0; 8]);
/// # Ok::<(), thalweg::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an extent of a launch",
    label = "expected a `u32`, `i32` or `usize`"
)]
pub trait Axis: Copy + sealed::Whole {
    #[doc(hidden)]
    fn axis(self) -> u32;
}

macro_rules! axis {
    ($($type:ty),*) => {$(
        impl sealed::Whole for $type {
            const SIGNED: bool = <$type>::MIN != 0;
        }

        impl Axis for $type {
            #[inline]
            fn axis(self) -> u32 {
                // A negative extent becomes 0 and a huge one the greatest `u32`. Both are outside every
                // limit.
                u32::try_from(self).unwrap_or(if self < 1 { 0 } else { u32::MAX })
            }
        }
    )*};
}
axis!(u8, u16, u32, u64, usize, i32, i64, isize);

/// A grid, in blocks, or a block, in threads: `n`, `(x, y)` or `(x, y, z)`. Extents that are left out are 1.
///
/// A launch over the columns and rows of an image, in blocks of 32 x 8 threads:
///
/// ```
/// use thalweg::kernel::{Shaped, blocks};
/// use thalweg::sim::Simulation;
/// use thalweg::streams::Stream;
/// use thalweg::{Device, DeviceBuf};
/// use thalweg_kernels::sobel_f32;
///
/// let device = Device::simulated(Simulation::h200());
/// let (stream, sobel) = (Stream::new(&device)?, sobel_f32::load(&device)?);
/// let (rows, columns) = (2, 4);
/// let image = DeviceBuf::from_slice(&device, &[0.0_f32, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0])?;
/// let mut edges = DeviceBuf::zeroed(&device, rows * columns)?;
///
/// let (grid, block) = ((blocks(columns, 32), blocks(rows, 8)), (32, 8));
/// let written = Shaped::new(&mut edges, [1, rows, columns]);
/// sobel.launch(stream.config(grid, block, 0), rows as u32, columns as u32, &image, written)?;
/// assert_eq!(edges.to_vec()?, [0.0, 4.0, 4.0, 0.0, 0.0, 4.0, 4.0, 0.0]);
/// # Ok::<(), thalweg::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a grid or block",
    label = "expected `n`, `(x, y)` or `(x, y, z)`"
)]
pub trait Extent: Copy {
    #[doc(hidden)]
    fn extent(self) -> [u32; 3];
}

impl<X: Axis> Extent for X {
    #[inline]
    fn extent(self) -> [u32; 3] {
        [self.axis(), 1, 1]
    }
}

impl<X: Axis, Y: Axis> Extent for (X, Y) {
    #[inline]
    fn extent(self) -> [u32; 3] {
        [self.0.axis(), self.1.axis(), 1]
    }
}

impl<X: Axis, Y: Axis, Z: Axis> Extent for (X, Y, Z) {
    #[inline]
    fn extent(self) -> [u32; 3] {
        [self.0.axis(), self.1.axis(), self.2.axis()]
    }
}

/// A grid or block that is a constant, checked while the user's crate is compiled.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Constant<E>(pub E);

impl<X: Axis> Constant<X> {
    pub const fn within(self, limits: [u128; 3], most: u128) -> bool {
        within([whole(self.0), 1, 1], limits, most)
    }

    /// The number, or 0 if it is negative.
    pub const fn count(self) -> u128 {
        whole(self.0)
    }
}

impl<X: Axis, Y: Axis> Constant<(X, Y)> {
    pub const fn within(self, limits: [u128; 3], most: u128) -> bool {
        within([whole(self.0.0), whole(self.0.1), 1], limits, most)
    }
}

impl<X: Axis, Y: Axis, Z: Axis> Constant<(X, Y, Z)> {
    pub const fn within(self, limits: [u128; 3], most: u128) -> bool {
        within([whole(self.0.0), whole(self.0.1), whole(self.0.2)], limits, most)
    }
}

/// Whether each extent is at least 1 and within its limit, and their product is at most `most`.
const fn within([x, y, z]: [u128; 3], limits: [u128; 3], most: u128) -> bool {
    let each = x >= 1 && y >= 1 && z >= 1 && x <= limits[0] && y <= limits[1] && z <= limits[2];
    each && x.saturating_mul(y).saturating_mul(z) <= most
}

/// The number, or 0 if it is negative.
const fn whole<X: Axis>(number: X) -> u128 {
    let mut bytes = [0_u8; 16];
    let from = (&raw const number).cast::<u8>();
    let mut index = 0;
    while index < size_of::<X>() {
        // SAFETY: `X` is a whole number (the trait is sealed): all of its bytes are initialised, and it has
        // at most 16.
        let byte = unsafe { *from.add(index) };
        bytes[if cfg!(target_endian = "little") { index } else { 16 - size_of::<X>() + index }] = byte;
        index += 1;
    }
    let value = u128::from_ne_bytes(bytes);
    let negative = X::SIGNED && value >> (8 * size_of::<X>() - 1) == 1;
    if negative { 0 } else { value }
}

mod sealed {
    /// Rust's integers.
    pub trait Whole {
        const SIGNED: bool;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_numbers_of_any_size() {
        const LIMITS: [u128; 3] = [1024, 1024, 64];
        assert!(const { Constant(1024_u32).within(LIMITS, 1024) } && Constant(255_u8).within(LIMITS, 1024));
        assert!(!Constant(1025_usize).within(LIMITS, 1024) && !Constant(-1_i64).within(LIMITS, 1024));
        assert!(!Constant(0_isize).within(LIMITS, 1024) && !Constant(u64::MAX).within(LIMITS, u128::MAX));
        assert!(Constant((32_i32, 32_u64)).within(LIMITS, 1024));
        assert!(!Constant((32, 33)).within(LIMITS, 1024));
        assert!(
            Constant((1_u16, 1, 64)).within(LIMITS, 1024) && !Constant((1, 1, 65_i32)).within(LIMITS, 1024)
        );
    }
}
