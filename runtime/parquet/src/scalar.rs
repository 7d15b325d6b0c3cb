//! The numbers that Parquet stores.

use parquet::data_type::FixedLenByteArray;
use thalweg::half::f16;

use self::sealed::Number;

/// A number that Parquet stores: `f16`, `f32`, `f64`, `i8` to `i64`, `u8` to `u64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number that Parquet stores",
    note = "Parquet stores `f16`, `f32`, `f64`, `i8` to `i64` and `u8` to `u64`; an item of `k` numbers is `input x: [T; k]`"
)]
pub trait Scalar: Number {}

pub(crate) mod sealed {
    use parquet::data_type::DataType;
    use thalweg::Pod;

    pub trait Number: Pod + Send + Sync {
        /// The type's name in Rust.
        const NAME: &'static str;
        /// The type that Parquet stores it as.
        type Stored: DataType;

        fn stored(self) -> <Self::Stored as DataType>::T;
        /// `None` if what is stored is no such number, in spite of what the file says of the column.
        fn loaded(stored: &<Self::Stored as DataType>::T) -> Option<Self>;
    }
}

macro_rules! scalars {
    ($($type:ident $stored:ident $to:expr, $from:expr;)*) => {$(
        impl Number for $type {
            const NAME: &'static str = stringify!($type);
            type Stored = parquet::data_type::$stored;

            fn stored(self) -> <Self::Stored as parquet::data_type::DataType>::T {
                $to(self)
            }

            fn loaded(stored: &<Self::Stored as parquet::data_type::DataType>::T) -> Option<Self> {
                $from(stored)
            }
        }

        impl Scalar for $type {}
    )*};
}

// Parquet has integers of 32 and 64 bits, and stores the others in them. Unsigned integers keep their bits. A
// file may use more bits than it says. Some encodings store the length of each value of a fixed length.
scalars! {
    f16 FixedLenByteArrayType
        |x: Self| FixedLenByteArray::from(x.to_le_bytes().to_vec()),
        |x: &FixedLenByteArray| x.data().try_into().ok().map(Self::from_le_bytes);
    f32 FloatType |x| x, |x: &Self| Some(*x);
    f64 DoubleType |x| x, |x: &Self| Some(*x);
    i8 Int32Type i32::from, |x: &i32| Self::try_from(*x).ok();
    i16 Int32Type i32::from, |x: &i32| Self::try_from(*x).ok();
    i32 Int32Type |x| x, |x: &Self| Some(*x);
    i64 Int64Type |x| x, |x: &Self| Some(*x);
    u8 Int32Type i32::from, |x: &i32| Self::try_from(*x).ok();
    u16 Int32Type i32::from, |x: &i32| Self::try_from(*x).ok();
    u32 Int32Type |x| x as i32, |x: &i32| Some(*x as Self);
    u64 Int64Type |x| x as i64, |x: &i64| Some(*x as Self);
}
