//! Operators and methods of floats.

use super::cases::Cases;
use super::cases::Exact::{Bits, EitherZero, Near};
use super::values::{Number, Random, Value};

const POWERS: [i32; 22] =
    [0, 1, -1, 2, -2, 3, -3, 4, 5, 6, 7, -7, 8, 9, 15, 16, -31, 64, 127, -150, i32::MAX, i32::MIN];

/// Functions of floats of one type, how near they come, and what Rust says of them.
macro_rules! functions {
    ($cases:ident, $ty:ident:
        $($name:ident($($argument:ident),+ $(; $line:ident)?) $exact:expr => $native:expr,)*) => {$(
        let arguments = concat!(stringify!($($argument),+), $(", ", stringify!($line))?);
        let expression = &format!(concat!("tw::", stringify!($name), "({})"), arguments);
        functions!(@ $cases, $ty, (stringify!($name), expression), $exact, [$($argument),+], $native);
    )*};
    (@ $cases:ident, $ty:ident, $what:expr, $exact:expr, [$a:ident], $native:expr) => {
        $cases.one($what, &$ty::many(), $exact, |$a: $ty| $native)
    };
    (@ $cases:ident, $ty:ident, $what:expr, $exact:expr, [$a:ident, $b:ident], $native:expr) => {
        $cases.two($what, (&$ty::some(), &$ty::some()), $exact, |$a: $ty, $b: $ty| $native)
    };
    (@ $cases:ident, $ty:ident, $what:expr, $exact:expr, [$a:ident, $b:ident, $c:ident], $native:expr) => {
        $cases.three($what, &$ty::few(), $exact, |$a: $ty, $b: $ty, $c: $ty| $native)
    };
}

macro_rules! floats {
    ($cases:ident: $($ty:ident)*) => {$(
        functions! { $cases, $ty:
            rem(a, b) Bits => Some(a % b),
            min(a, b) EitherZero => Some(a.min(b)),
            max(a, b) EitherZero => Some(a.max(b)),
            clamp(a, b, c; LINE) EitherZero => (b <= c).then(|| a.clamp(b, c)),
            abs(a) Bits => Some(a.abs()),
            signum(a) Bits => Some(a.signum()),
            copysign(a, b) Bits => Some(a.copysign(b)),
            sqrt(a) Bits => Some(a.sqrt()),
            floor(a) Bits => Some(a.floor()),
            ceil(a) Bits => Some(a.ceil()),
            round(a) Bits => Some(a.round()),
            round_ties_even(a) Bits => Some(a.round_ties_even()),
            trunc(a) Bits => Some(a.trunc()),
            fract(a) Bits => Some(a.fract()),
            mul_add(a, b, c) Bits => Some(a.mul_add(b, c)),
            recip(a) Bits => Some(a.recip()),
            to_degrees(a) Bits => Some(a.to_degrees()),
            to_radians(a) Bits => Some(a.to_radians()),
            div_euclid(a, b) Bits => Some(a.div_euclid(b)),
            rem_euclid(a, b) Bits => Some(a.rem_euclid(b)),
            cbrt(a) Near(3) => Some(a.cbrt()),
            powf(a, b) Near(9) => Some(a.powf(b)),
            exp(a) Near(3) => Some(a.exp()),
            exp2(a) Near(3) => Some(a.exp2()),
            exp_m1(a) Near(3) => Some(a.exp_m1()),
            ln(a) Near(3) => Some(a.ln()),
            ln_1p(a) Near(3) => Some(a.ln_1p()),
            log2(a) Near(3) => Some(a.log2()),
            log10(a) Near(4) => Some(a.log10()),
            // Two logarithms and a quotient.
            log(a, b) Near(6) => Some(a.log(b)),
            sin(a) Near(3) => Some(a.sin()),
            cos(a) Near(3) => Some(a.cos()),
            tan(a) Near(5) => Some(a.tan()),
            asin(a) Near(5) => Some(a.asin()),
            acos(a) Near(4) => Some(a.acos()),
            atan(a) Near(4) => Some(a.atan()),
            atan2(a, b) Near(5) => Some(a.atan2(b)),
            sinh(a) Near(5) => Some(a.sinh()),
            cosh(a) Near(4) => Some(a.cosh()),
            tanh(a) Near(4) => Some(a.tanh()),
            asinh(a) Near(5) => Some(inverse::$ty::asinh(a)),
            acosh(a) Near(5) => Some(inverse::$ty::acosh(a)),
            atanh(a) Near(5) => Some(inverse::$ty::atanh(a)),
            hypot(a, b) Near(4) => Some(a.hypot(b)),
        }
        $cases.one(("sin_cos", "tw::sin_cos(a)._0"), &$ty::many(), Near(3), |a: $ty| Some(a.sin_cos().0));
        $cases.one(("sin_cos", "tw::sin_cos(a)._1"), &$ty::many(), Near(3), |a: $ty| Some(a.sin_cos().1));
        // Rust promises no bits here, but both multiply in the same order.
        let tables = (&*$ty::many(), &POWERS[..]);
        $cases.two(("powi", "tw::powi(a, b)"), tables, Bits, |a: $ty, b: i32| Some(a.powi(b)));
        // Signaling NaN too.
        let mut random = Random::new(7);
        let nans = (0..20).map(|_| $ty::INFINITY.bits() | random.next() >> (random.next() % 64));
        let nans = nans.map(<$ty as Value>::of);
        let any: Vec<_> = $ty::many().into_iter().chain(nans).flat_map(|a| [a, -a]).collect();
        let bits: Vec<_> = any.iter().map(|any| any.to_bits()).collect();
        let from_bits = concat!("tw::from_bits<", stringify!($ty), ">(a)");
        $cases.one(("from_bits", from_bits), &bits, Bits, |a| Some($ty::from_bits(a)));
        $cases.one(("to_bits", "tw::to_bits(a)"), &any, Bits, |a: $ty| Some(a.to_bits()));
        $cases.one(("is_nan", "tw::is_nan(a)"), &any, Bits, |a: $ty| Some(a.is_nan()));
        $cases.one(("is_finite", "tw::is_finite(a)"), &any, Bits, |a: $ty| Some(a.is_finite()));
        $cases.one(("is_infinite", "tw::is_infinite(a)"), &any, Bits, |a: $ty| Some(a.is_infinite()));
        $cases.one(("is_normal", "tw::is_normal(a)"), &any, Bits, |a: $ty| Some(a.is_normal()));
        $cases.one(("is_sign_positive", "tw::is_sign_positive(a)"), &any, Bits, |a: $ty| {
            Some(a.is_sign_positive())
        });
        $cases.one(("is_sign_negative", "tw::is_sign_negative(a)"), &any, Bits, |a: $ty| {
            Some(a.is_sign_negative())
        });
        // What needs no function in C++, in the form in which kernels have it.
        let (some, constant) = ($ty::some(), [0.0 as $ty]);
        let tables = (&*some, &*some);
        $cases.two(("+", "a + b"), tables, Bits, |a: $ty, b: $ty| Some(a + b));
        $cases.two(("-", "a - b"), tables, Bits, |a: $ty, b: $ty| Some(a - b));
        $cases.two(("*", "a * b"), tables, Bits, |a: $ty, b: $ty| Some(a * b));
        $cases.two(("/", "a / b"), tables, Bits, |a: $ty, b: $ty| Some(a / b));
        $cases.two(("<", "a < b"), tables, Bits, |a: $ty, b: $ty| Some(a < b));
        $cases.two(("<=", "a <= b"), tables, Bits, |a: $ty, b: $ty| Some(a <= b));
        $cases.two(("==", "a == b"), tables, Bits, |a: $ty, b: $ty| Some(a == b));
        $cases.two(("!=", "a != b"), tables, Bits, |a: $ty, b: $ty| Some(a != b));
        $cases.three(("+", "a * b + c"), &$ty::few(), Bits, |a: $ty, b: $ty, c: $ty| Some(a * b + c));
        $cases.one(("-", "-a"), &$ty::many(), Bits, |a: $ty| Some(-a));
        let [infinity, nan] = ["infinity", "nan"].map(|name| format!("a + tw::{name}<{}>()", $ty::NAME));
        $cases.one(("infinity", &infinity), &constant, Bits, |a: $ty| Some(a + $ty::INFINITY));
        $cases.one(("nan", &nan), &constant, Bits, |a: $ty| Some(a + $ty::NAN));
    )*};
}

/// Inverse hyperbolic functions by other ways than std's, which loses digits near 1 and overflows: kernels
/// are meant to be right, as CUDA's functions are.
mod inverse {
    pub(super) mod f64 {
        /// Above this, the root of `x * x + 1` is `x`.
        const GREAT: f64 = 1e9;

        pub(crate) fn asinh(x: f64) -> f64 {
            let a = x.abs();
            let positive = if a > GREAT {
                a.ln() + std::f64::consts::LN_2
            } else {
                (a + a * a / (1.0 + (a * a + 1.0).sqrt())).ln_1p()
            };
            positive.copysign(x)
        }

        pub(crate) fn acosh(x: f64) -> f64 {
            if x < 1.0 {
                return f64::NAN;
            }
            let t = x - 1.0;
            if x > GREAT { x.ln() + std::f64::consts::LN_2 } else { (t + (t * (x + 1.0)).sqrt()).ln_1p() }
        }

        pub(crate) fn atanh(x: f64) -> f64 {
            let a = x.abs();
            (0.5 * (2.0 * a / (1.0 - a)).ln_1p()).copysign(x)
        }
    }

    pub(super) mod f32 {
        pub(crate) fn asinh(x: f32) -> f32 {
            super::f64::asinh(x.into()) as f32
        }

        pub(crate) fn acosh(x: f32) -> f32 {
            super::f64::acosh(x.into()) as f32
        }

        pub(crate) fn atanh(x: f32) -> f32 {
            super::f64::atanh(x.into()) as f32
        }
    }
}

pub fn write(cases: &mut Cases) {
    floats!(cases: f32 f64);
}
