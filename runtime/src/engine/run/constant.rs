//! [`Constant`]: what decides on collectives, if it is named.

use std::num::{NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroUsize};
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use half::{bf16, f16};

/// Numbers, texts and what holds them: the program fixes their values, and reading them runs nothing of the program.
#[diagnostic::on_unimplemented(
    message = "a `{Self}` decides on a collective, and may differ between ranks",
    label = "not a number, a text, or an array or range of these",
    note = "all ranks carry out the same collectives, so what decides on them is the same on all ranks",
    note = "if the program fixes the value, name a number or a `bool` that is computed from it in a `const`",
    note = "otherwise compute it before `run`, and pass it as a `uniform param`"
)]
pub trait Constant {}

/// The generated code calls it in a constant, with the names that decide on collectives.
pub const fn is_constant<T: Constant + ?Sized>(_: &T) {}

macro_rules! constants {
    ($($ty:ty)*) => { $(impl Constant for $ty {})* };
}

constants! {
    bool char str f16 bf16 f32 f64
    i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize
    NonZeroU8 NonZeroU16 NonZeroU32 NonZeroU64 NonZeroUsize
    RangeFull
}

impl<T: Constant, const N: usize> Constant for [T; N] {}
impl<T: Constant> Constant for [T] {}
impl<T: Constant + ?Sized> Constant for &T {}
impl<T: Constant> Constant for Option<T> {}
impl<T: Constant> Constant for Range<T> {}
impl<T: Constant> Constant for RangeFrom<T> {}
impl<T: Constant> Constant for RangeTo<T> {}
impl<T: Constant> Constant for RangeInclusive<T> {}
impl<T: Constant> Constant for RangeToInclusive<T> {}
impl<A: Constant> Constant for (A,) {}
impl<A: Constant, B: Constant> Constant for (A, B) {}
impl<A: Constant, B: Constant, C: Constant> Constant for (A, B, C) {}
impl<A: Constant, B: Constant, C: Constant, D: Constant> Constant for (A, B, C, D) {}
