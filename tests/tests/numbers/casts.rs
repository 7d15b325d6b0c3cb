//! `as`.

use super::cases::{Cases, Exact};
use super::values::{Number, Value};

/// The cast as a call and, where C++ converts as Rust does, in the form in which kernels have it.
fn cast<A: Value, R: Value>(
    cases: &mut Cases,
    table: &[A],
    is_plain: bool,
    native: impl Fn(A) -> R + Copy + 'static,
) {
    let call = format!("tw::cast<{}>(a)", R::NAME);
    cases.one(("cast", &call), table, Exact::Bits, move |a| Some(native(a)));
    if is_plain {
        let plain = format!("{}(a)", R::NAME);
        cases.one(("(…)", &plain), table, Exact::Bits, move |a| Some(native(a)));
    }
}

/// From each type of the first list to each of the second.
macro_rules! casts {
    ($cases:ident, $is_plain:literal, $tables:ident: [$($from:ident)*] $to:tt) => {$(
        casts!(@ $cases, $is_plain, &$tables::$from(), $from $to);
    )*};
    (@ $cases:ident, $is_plain:literal, $table:expr, $from:ident [$($to:ident)*]) => {$(
        cast($cases, $table, $is_plain, |a: $from| a as $to);
    )*};
}

/// The values of each type that casts are tried with.
mod tables {
    use super::{Number, limits};

    pub(super) fn bool() -> Vec<bool> {
        vec![false, true]
    }

    macro_rules! integers {
        ($($ty:ident)*) => {$(
            pub(super) fn $ty() -> Vec<$ty> {
                $ty::many()
            }
        )*};
    }
    integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

    macro_rules! floats {
        ($($ty:ident)*) => {$(
            /// With the limits of the integers, and what is next to them.
            pub(super) fn $ty() -> Vec<$ty> {
                let near = limits().into_iter().map(|limit| limit as $ty).flat_map(|limit| {
                    let around = [limit.next_down(), limit, limit.next_up()];
                    around.into_iter().flat_map(|near| [near, near - 0.5, near + 0.5, near - 1.0, near + 1.0])
                });
                $ty::many().into_iter().chain(near).collect()
            }
        )*};
    }
    floats!(f32 f64);
}

/// The least and the greatest of each integer type.
fn limits() -> Vec<f64> {
    macro_rules! limits {
        ($($ty:ident)*) => { vec![$($ty::MIN as f64, $ty::MAX as f64),*] };
    }
    limits!(u8 u16 u32 u64 i8 i16 i32 i64)
}

pub fn write(cases: &mut Cases) {
    casts!(cases, true, tables: [u8 u16 u32 u64 usize i8 i16 i32 i64 isize]
        [u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64]);
    casts!(cases, true, tables: [bool] [u8 u16 u32 u64 usize i8 i16 i32 i64 isize]);
    casts!(cases, false, tables: [f32 f64] [u8 u16 u32 u64 usize i8 i16 i32 i64 isize]);
    casts!(cases, true, tables: [f32 f64] [f32 f64]);
}
