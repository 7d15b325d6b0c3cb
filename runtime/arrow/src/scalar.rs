//! The numbers that Arrow has a type for.

use thalweg::half::f16;

use self::sealed::Number;

/// A number that Arrow has a type for: `f16`, `f32`, `f64`, `i8` to `i64`, `u8` to `u64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number that Arrow has a type for",
    note = "Arrow has `f16`, `f32`, `f64`, `i8` to `i64` and `u8` to `u64`; an item of `k` numbers is `input x: [T; k]`"
)]
pub trait Scalar: Number {}

pub(crate) mod sealed {
    use arrow_array::ArrowPrimitiveType;
    use thalweg::Pod;

    pub trait Number: Pod + Send + Sync {
        /// The type's name in Rust.
        const NAME: &'static str;
        type Arrow: ArrowPrimitiveType<Native = Self>;
    }
}

macro_rules! scalars {
    ($($type:ident $arrow:ident;)*) => {$(
        impl Number for $type {
            const NAME: &'static str = stringify!($type);
            type Arrow = arrow_array::types::$arrow;
        }

        impl Scalar for $type {}
    )*};
}

scalars! {
    f16 Float16Type;
    f32 Float32Type;
    f64 Float64Type;
    i8 Int8Type;
    i16 Int16Type;
    i32 Int32Type;
    i64 Int64Type;
    u8 UInt8Type;
    u16 UInt16Type;
    u32 UInt32Type;
    u64 UInt64Type;
}
