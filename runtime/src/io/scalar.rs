//! The numbers that `.npy` files have types for.

use half::f16;

use self::sealed::Number;

/// A number that `.npy` files have a type for: `f16`, `f32`, `f64`, `i8` to `i64`, `u8` to `u64`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number that `.npy` files have a type for",
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
    }
}

macro_rules! scalars {
    ($($type:ident $npy:literal;)*) => {$(
        impl Number for $type {
            const NAME: &'static str = stringify!($type);
            const NPY: &'static str = $npy;
        }

        impl Scalar for $type {}
    )*};
}

scalars! {
    f16 "f2";
    f32 "f4";
    f64 "f8";
    i8 "i1";
    i16 "i2";
    i32 "i4";
    i64 "i8";
    u8 "u1";
    u16 "u2";
    u32 "u4";
    u64 "u8";
}
