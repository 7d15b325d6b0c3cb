//! The elements that cuBLAS works on.

use thalweg::Pod;
use thalweg::half::{bf16, f16};

use super::sys::{cublasComputeType_t as Compute, cudaDataType_t as DataType};

/// An element of a matrix: `f32`, `f64`, [`struct@f16`] or [`bf16`].
#[diagnostic::on_unimplemented(
    message = "cuBLAS has no matrices of `{Self}`",
    label = "expected elements `f32`, `f64`, `f16` or `bf16`"
)]
pub trait Element: Pod + Send + Sync + sealed::Sealed {
    /// The type in which sums are taken, and of `alpha` and `beta`: `f64` for `f64`, otherwise `f32`.
    type Scale: Scale;
    #[doc(hidden)]
    const TYPE: DataType;
    #[doc(hidden)]
    fn widened(self) -> Self::Scale;
    #[doc(hidden)]
    fn rounded(value: Self::Scale) -> Self;
    /// The elements themselves, if sums are taken in their type.
    #[doc(hidden)]
    fn as_scale(elements: &[Self]) -> Option<&[Self::Scale]>;
    #[doc(hidden)]
    fn as_scale_mut(elements: &mut [Self]) -> Option<&mut [Self::Scale]>;
}

/// A type in which sums are taken: `f32` or `f64`.
pub trait Scale: Element<Scale = Self> + PartialEq + Default {
    #[doc(hidden)]
    const COMPUTE: Compute;
    #[doc(hidden)]
    const ONE: Self;
    #[doc(hidden)]
    fn times(self, other: Self) -> Self;
    #[doc(hidden)]
    fn plus(self, other: Self) -> Self;
    #[doc(hidden)]
    fn relu(self) -> Self;
    #[doc(hidden)]
    fn gelu(self) -> Self;

    /// `c <- alpha * a * b + beta * c` of an `m x k` and a `k x n` matrix. The element at `(i, j)` is
    /// `i * strides[0] + j * strides[1]` elements after the first.
    ///
    /// # Safety
    /// All these elements are in bounds, and no two elements of `c` are at the same place.
    #[doc(hidden)]
    #[allow(clippy::too_many_arguments, reason = "they are the routine's")]
    unsafe fn product(
        size: [usize; 3],
        alpha: Self,
        a: (*const Self, [isize; 2]),
        b: (*const Self, [isize; 2]),
        beta: Self,
        c: (*mut Self, [isize; 2]),
    );
}

/// Elements whose matrices have a product of elements `C`: each type gives itself, and `f16` and `bf16` also
/// give `f32`.
#[diagnostic::on_unimplemented(
    message = "cuBLAS has no such product of matrices of `{Self}`",
    label = "expected `f32`, `f64`, `f16` or `bf16`, and a result of the same, or of `f32` for the last two"
)]
pub trait Product<C = Self>: Element<Scale = <C as Element>::Scale>
where
    C: Element,
{
}

impl Product for f32 {}
impl Product for f64 {}
impl Product for f16 {}
impl Product for bf16 {}
impl Product<f32> for f16 {}
impl Product<f32> for bf16 {}

macro_rules! elements {
    ($($element:ty: $scale:ty, $type:ident, $widened:expr, $rounded:expr, $same:expr;)*) => {$(
        impl sealed::Sealed for $element {}
        impl Element for $element {
            type Scale = $scale;
            const TYPE: DataType = DataType::$type;

            #[inline]
            fn widened(self) -> $scale {
                $widened(self)
            }

            #[inline]
            fn rounded(value: $scale) -> Self {
                $rounded(value)
            }

            fn as_scale(elements: &[Self]) -> Option<&[$scale]> {
                $same(elements)
            }

            fn as_scale_mut(elements: &mut [Self]) -> Option<&mut [$scale]> {
                $same(elements)
            }
        }
    )*};
}
elements! {
    f32: f32, CUDA_R_32F, std::convert::identity, std::convert::identity, Some;
    f64: f64, CUDA_R_64F, std::convert::identity, std::convert::identity, Some;
    f16: f32, CUDA_R_16F, f16::to_f32, f16::from_f32, |_| None;
    bf16: f32, CUDA_R_16BF, bf16::to_f32, bf16::from_f32, |_| None;
}

macro_rules! scales {
    ($($scale:ident, $compute:ident, $product:path;)*) => {$(
        impl Scale for $scale {
            const COMPUTE: Compute = Compute::$compute;
            const ONE: Self = 1.0;

            #[inline]
            fn times(self, other: Self) -> Self {
                self * other
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            fn relu(self) -> Self {
                // `max` would make 0 of NaN.
                if self < 0.0 { 0.0 } else { self }
            }

            fn gelu(self) -> Self {
                let inner = (2.0 / std::$scale::consts::PI).sqrt() * (self + 0.044_715 * self * self * self);
                0.5 * self * (1.0 + inner.tanh())
            }

            unsafe fn product(
                [m, n, k]: [usize; 3],
                alpha: Self,
                (a, [a_row, a_column]): (*const Self, [isize; 2]),
                (b, [b_row, b_column]): (*const Self, [isize; 2]),
                beta: Self,
                (c, [c_row, c_column]): (*mut Self, [isize; 2]),
            ) {
                // SAFETY: the caller promises that all these elements are in bounds, and that those of `c`
                // are apart.
                unsafe {
                    $product(
                        m, k, n, alpha, a, a_row, a_column, b, b_row, b_column, beta, c, c_row, c_column,
                    );
                }
            }
        }
    )*};
}
scales! {
    f32, CUBLAS_COMPUTE_32F, matrixmultiply::sgemm;
    f64, CUBLAS_COMPUTE_64F, matrixmultiply::dgemm;
}

mod sealed {
    pub trait Sealed {}
}
