//! The extents of a launch's grid and block.

/// One extent of a grid or block. Values out of range become ones that the launch refuses.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an extent of a launch",
    label = "expected a `u32`, `i32` or `usize`"
)]
pub trait Axis: Copy {
    #[doc(hidden)]
    fn axis(self) -> u32;
}

macro_rules! axis {
    ($($type:ty),*) => {$(
        impl Axis for $type {
            #[inline]
            fn axis(self) -> u32 {
                // A negative extent becomes 0 and a huge one the greatest: both are outside every limit.
                u32::try_from(self).unwrap_or(if self < 1 { 0 } else { u32::MAX })
            }
        }
    )*};
}
axis!(u8, u16, u32, u64, usize, i32, i64, isize);

/// A grid or block: `n`, `(x, y)` or `(x, y, z)`.
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
