//! The numbers that the formats of files have types for.

use half::f16;

use self::sealed::Number;

/// A number that `.npy`, Arrow and Parquet have a type for: `f16`, `f32`, `f64`, `i8` to `i64`, `u8` to `u64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number that the formats of files have a type for",
    note = "those are `f16`, `f32`, `f64`, `i8` to `i64` and `u8` to `u64`; `k` of them an item is `input x: [T; k]`"
)]
pub trait Scalar: Number {}

pub(crate) mod sealed {
    use bytemuck::Pod;

    pub trait Number: Pod + Send + Sync {
        /// As it is written in Rust.
        const NAME: &'static str;
        /// As NumPy writes it, without the byte order.
        const NPY: &'static str;
        #[cfg(feature = "arrow")]
        type Arrow: arrow_array::ArrowPrimitiveType<Native = Self>;
        /// How Parquet stores it.
        #[cfg(feature = "parquet")]
        type Stored: parquet::data_type::DataType;

        #[cfg(feature = "parquet")]
        fn stored(self) -> <Self::Stored as parquet::data_type::DataType>::T;
        #[cfg(feature = "parquet")]
        fn loaded(stored: &<Self::Stored as parquet::data_type::DataType>::T) -> Self;
    }
}

macro_rules! scalars {
    ($($type:ident $npy:literal $arrow:ident $stored:ident $to:expr, $from:expr;)*) => {$(
        impl Number for $type {
            const NAME: &'static str = stringify!($type);
            const NPY: &'static str = $npy;
            #[cfg(feature = "arrow")]
            type Arrow = arrow_array::types::$arrow;
            #[cfg(feature = "parquet")]
            type Stored = parquet::data_type::$stored;

            #[cfg(feature = "parquet")]
            fn stored(self) -> <Self::Stored as parquet::data_type::DataType>::T {
                $to(self)
            }

            #[cfg(feature = "parquet")]
            fn loaded(stored: &<Self::Stored as parquet::data_type::DataType>::T) -> Self {
                $from(stored)
            }
        }

        impl Scalar for $type {}
    )*};
}

// Parquet has integers of 32 and 64 bits, and stores the others in them; unsigned ones bit by bit.
scalars! {
    f16 "f2" Float16Type FixedLenByteArrayType
        |x: Self| parquet::data_type::FixedLenByteArray::from(x.to_le_bytes().to_vec()),
        |x: &parquet::data_type::FixedLenByteArray| Self::from_le_bytes(x.data().try_into().unwrap_or_default());
    f32 "f4" Float32Type FloatType |x| x, |x: &Self| *x;
    f64 "f8" Float64Type DoubleType |x| x, |x: &Self| *x;
    i8 "i1" Int8Type Int32Type i32::from, |x: &i32| *x as Self;
    i16 "i2" Int16Type Int32Type i32::from, |x: &i32| *x as Self;
    i32 "i4" Int32Type Int32Type |x| x, |x: &Self| *x;
    i64 "i8" Int64Type Int64Type |x| x, |x: &Self| *x;
    u8 "u1" UInt8Type Int32Type i32::from, |x: &i32| *x as Self;
    u16 "u2" UInt16Type Int32Type i32::from, |x: &i32| *x as Self;
    u32 "u4" UInt32Type Int32Type |x| x as i32, |x: &i32| *x as Self;
    u64 "u8" UInt64Type Int64Type |x| x as i64, |x: &i64| *x as Self;
}
