//! Operators and methods of integers. Where a debug build panics, the checked method has `None`.

use super::cases::{Cases, Exact};
use super::values::Number;

/// Distances of shifts and rotations.
#[rustfmt::skip]
const DISTANCES: [u32; 26] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 127, 128, 255, 256,
    1 << 31, u32::MAX,
];

#[rustfmt::skip]
const EXPONENTS: [u32; 20] = [
    0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 15, 16, 19, 31, 32, 62, 63, 64, 1 << 31, u32::MAX,
];

/// Functions of numbers of one type, and what Rust says of them. `; LINE` follows the arguments of what may
/// fault.
macro_rules! functions {
    ($cases:ident, $ty:ident: $($name:ident($($argument:ident),+ $(; $line:ident)*) => $native:expr,)*) => {$(
        let arguments = concat!(stringify!($($argument),+), $(", ", stringify!($line)),*);
        let expression = &format!(concat!("tw::", stringify!($name), "({})"), arguments);
        functions!(@ $cases, $ty, (stringify!($name), expression), [$($argument),+], $native);
    )*};
    (@ $cases:ident, $ty:ident, $what:expr, [$a:ident], $native:expr) => {
        $cases.one($what, &$ty::many(), Exact::Bits, |$a: $ty| $native)
    };
    (@ $cases:ident, $ty:ident, $what:expr, [$a:ident, $b:ident], $native:expr) => {
        $cases.two($what, (&$ty::some(), &$ty::some()), Exact::Bits, |$a: $ty, $b: $ty| $native)
    };
    (@ $cases:ident, $ty:ident, $what:expr, [$a:ident, $b:ident, $c:ident], $native:expr) => {
        $cases.three($what, &$ty::few(), Exact::Bits, |$a: $ty, $b: $ty, $c: $ty| $native)
    };
}

/// Functions of a number of the type and a `u32`.
macro_rules! with_u32 {
    ($cases:ident, $ty:ident, $table:ident:
        $($name:ident($a:ident, $b:ident $(; $line:ident)*) => $native:expr,)*) => {$(
        let expression = concat!("tw::", stringify!($name), "(a, b", $(", ", stringify!($line),)* ")");
        let tables = (&*$ty::many(), &$table[..]);
        $cases.two((stringify!($name), expression), tables, Exact::Bits, |$a: $ty, $b: u32| $native);
    )*};
}

/// What needs no function in C++, in the form in which kernels have it.
macro_rules! operators {
    ($cases:ident, $ty:ident: $($name:literal $expression:literal |$a:ident, $b:ident| $native:expr;)*) => {$(
        let expression = $expression.replace("T", stringify!($ty));
        let tables = (&*$ty::some(), &*$ty::some());
        $cases.two(($name, &expression), tables, Exact::Bits, |$a: $ty, $b: $ty| $native);
    )*};
}

macro_rules! all {
    ($cases:ident: $($ty:ident)*) => {$(
        functions! { $cases, $ty:
            add(a, b) => Some(a.wrapping_add(b)),
            add(a, b; LINE) => a.checked_add(b),
            sub(a, b) => Some(a.wrapping_sub(b)),
            sub(a, b; LINE) => a.checked_sub(b),
            mul(a, b) => Some(a.wrapping_mul(b)),
            mul(a, b; LINE) => a.checked_mul(b),
            div(a, b; LINE) => a.checked_div(b),
            rem(a, b; LINE) => a.checked_rem(b),
            not_(a) => Some(!a),
            min(a, b) => Some(a.min(b)),
            max(a, b) => Some(a.max(b)),
            clamp(a, b, c; LINE) => (b <= c).then(|| a.clamp(b, c)),
            abs_diff(a, b) => Some(a.abs_diff(b)),
            wrapping_add(a, b) => Some(a.wrapping_add(b)),
            wrapping_sub(a, b) => Some(a.wrapping_sub(b)),
            wrapping_mul(a, b) => Some(a.wrapping_mul(b)),
            wrapping_neg(a) => Some(a.wrapping_neg()),
            wrapping_div(a, b; LINE) => (b != 0).then(|| a.wrapping_div(b)),
            wrapping_rem(a, b; LINE) => (b != 0).then(|| a.wrapping_rem(b)),
            saturating_add(a, b) => Some(a.saturating_add(b)),
            saturating_sub(a, b) => Some(a.saturating_sub(b)),
            saturating_mul(a, b) => Some(a.saturating_mul(b)),
            count_ones(a) => Some(a.count_ones()),
            count_zeros(a) => Some(a.count_zeros()),
            leading_zeros(a) => Some(a.leading_zeros()),
            trailing_zeros(a) => Some(a.trailing_zeros()),
            leading_ones(a) => Some(a.leading_ones()),
            trailing_ones(a) => Some(a.trailing_ones()),
            swap_bytes(a) => Some(a.swap_bytes()),
            reverse_bits(a) => Some(a.reverse_bits()),
            div_euclid(a, b; LINE) => a.checked_div_euclid(b),
            rem_euclid(a, b; LINE) => a.checked_rem_euclid(b),
            ilog2(a; LINE) => a.checked_ilog2(),
            ilog10(a; LINE) => a.checked_ilog10(),
        }
        with_u32! { $cases, $ty, EXPONENTS:
            pow(a, b) => Some(a.wrapping_pow(b)),
            pow(a, b; LINE) => a.checked_pow(b),
            wrapping_pow(a, b) => Some(a.wrapping_pow(b)),
            saturating_pow(a, b) => Some(a.saturating_pow(b)),
        }
        with_u32! { $cases, $ty, DISTANCES:
            shl(a, b) => Some(a.wrapping_shl(b)),
            shl(a, b; LINE) => a.checked_shl(b),
            shr(a, b) => Some(a.wrapping_shr(b)),
            shr(a, b; LINE) => a.checked_shr(b),
            wrapping_shl(a, b) => Some(a.wrapping_shl(b)),
            wrapping_shr(a, b) => Some(a.wrapping_shr(b)),
            rotate_left(a, b) => Some(a.rotate_left(b)),
            rotate_right(a, b) => Some(a.rotate_right(b)),
        }
        operators! { $cases, $ty:
            "&" "T(a & b)" |a, b| Some(a & b);
            "|" "T(a | b)" |a, b| Some(a | b);
            "^" "T(a ^ b)" |a, b| Some(a ^ b);
            "<" "a < b" |a, b| Some(a < b);
            "<=" "a <= b" |a, b| Some(a <= b);
            "==" "a == b" |a, b| Some(a == b);
            "!=" "a != b" |a, b| Some(a != b);
        }
    )*};
}

macro_rules! signed {
    ($cases:ident: $($ty:ident)*) => {$(
        functions! { $cases, $ty:
            neg(a) => Some(a.wrapping_neg()),
            neg(a; LINE) => a.checked_neg(),
            abs(a) => Some(a.wrapping_abs()),
            abs(a; LINE) => a.checked_abs(),
            wrapping_abs(a) => Some(a.wrapping_abs()),
            unsigned_abs(a) => Some(a.unsigned_abs()),
            signum(a) => Some(a.signum()),
            is_positive(a) => Some(a.is_positive()),
            is_negative(a) => Some(a.is_negative()),
        }
    )*};
}

macro_rules! unsigned {
    ($cases:ident: $($ty:ident)*) => {$(
        functions! { $cases, $ty:
            is_power_of_two(a) => Some(a.is_power_of_two()),
            next_power_of_two(a) => Some(a.checked_next_power_of_two().unwrap_or(0)),
            next_power_of_two(a; LINE) => a.checked_next_power_of_two(),
            div_ceil(a, b; LINE) => (b != 0).then(|| a.div_ceil(b)),
            next_multiple_of(a, b; LINE) => match a.checked_rem(b) {
                Some(0) => Some(a),
                Some(rest) => Some(a.wrapping_add(b - rest)),
                None => None,
            },
            next_multiple_of(a, b; LINE; LINE) => a.checked_next_multiple_of(b),
            is_multiple_of(a, b) => Some(a.is_multiple_of(b)),
            isqrt(a) => Some(a.isqrt()),
        }
    )*};
}

/// The integers in which C++ computes without promotion to others.
macro_rules! unpromoted {
    ($cases:ident: $($ty:ident)*) => {$(
        operators! { $cases, $ty:
            "+" "a + b" |a, b| Some(a.wrapping_add(b));
            "-" "a - b" |a, b| Some(a.wrapping_sub(b));
            "*" "a * b" |a, b| Some(a.wrapping_mul(b));
            "~" "a ^ ~b" |a, b| Some(a ^ !b);
            "/" "a / 7u + b % 7u" |a, b| Some((a / 7).wrapping_add(b % 7));
            "<<" "(a << 31) + (b >> 31)" |a, b| Some((a << 31).wrapping_add(b >> 31));
        }
    )*};
}

pub fn write(cases: &mut Cases) {
    all!(cases: u8 u16 u32 u64 usize i8 i16 i32 i64 isize);
    signed!(cases: i8 i16 i32 i64 isize);
    unsigned!(cases: u8 u16 u32 u64 usize);
    unpromoted!(cases: u32 u64 usize);
    // C++ shifts signs to the right as Rust does.
    cases.one((">>", "a >> 31"), &i32::many(), Exact::Bits, |a: i32| Some(a >> 31));
    cases.one((">>", "a >> 31"), &i64::many(), Exact::Bits, |a: i64| Some(a >> 31));
}
