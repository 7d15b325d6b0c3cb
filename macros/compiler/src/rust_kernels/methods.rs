//! The methods of numbers and slices that kernels may call, by name and type. Every other method is an error
//! at its name.

use super::named::Part;
use super::types::{Number, Shape, Ty, Types};

/// What a method does, for the emitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// A function of numbers in the header, by its name there.
    Number(&'static Signature),
    /// `a.min(b)`, `a.max(b)` of references to integers.
    OfReferences(&'static str),
    /// `x.len()`
    Len,
    /// `x.is_empty()`
    IsEmpty,
    /// `x.get(i)` of a slice: an option.
    Get,
    /// `y.get_mut(i)`: an option.
    GetMut,
    /// `y.any(i)`, `y.any_mut(i)`: a reference to any element of an `Own`, an `Out` or a shared array.
    Any,
    /// `i.get()`
    Position,
    /// `part.row(i)`, `part.column(j)`
    PlaceOfPart(&'static str),
    /// `block.shape(y)`
    Shape,
    /// The rows of `y`, along all axes but the last.
    Rows,
    /// `option.is_some()`
    IsSome,
    /// `option.copied().unwrap_or(value)`
    CopiedOr,
    /// `exchange.is_ok()`
    IsOk,
    /// `exchange.is_err()`
    IsErr,
    /// `x.clone()`, `x.to_owned()`, of values that are copied.
    Same,
}

/// The types that a method has, in terms of its receiver `T`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) name: &'static str,
    pub(super) of: Of,
    pub(super) arguments: &'static [Is],
    pub(super) result: Is,
    pub(super) faults: Faults,
}

/// The receivers of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Integers,
    Signed,
    Unsigned,
    /// `f32` and `f64`.
    Floats,
    /// `f16` and `bf16`.
    Halves,
    /// All floats.
    AnyFloat,
    Numbers,
}

impl Of {
    /// All of them, as a reader looks for them.
    const ALL: [Self; 7] = [
        Self::Numbers,
        Self::Integers,
        Self::Signed,
        Self::Unsigned,
        Self::AnyFloat,
        Self::Floats,
        Self::Halves,
    ];

    fn said(self) -> &'static str {
        match self {
            Self::Integers => "integers",
            Self::Signed => "signed integers",
            Self::Unsigned => "unsigned integers",
            Self::Floats => "`f32`, `f64`",
            Self::Halves => "`f16`, `bf16`",
            Self::AnyFloat => "all floats",
            Self::Numbers => "all numbers",
        }
    }

    fn has(self, number: Number) -> bool {
        match self {
            Self::Integers => !number.is_float(),
            Self::Signed => number.is_signed(),
            Self::Unsigned => !number.is_float() && !number.is_signed(),
            Self::Floats => number.is_float() && !number.is_half(),
            Self::Halves => number.is_half(),
            Self::AnyFloat => number.is_float(),
            Self::Numbers => true,
        }
    }
}

/// The type of an argument or of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Is {
    /// The receiver's.
    Same,
    U32,
    I32,
    F32,
    F64,
    Bool,
    /// The unsigned integer of the same size.
    Unsigned,
    /// The unsigned integer with a float's bits.
    Bits,
    /// Two of the receiver's.
    Pair,
}

/// When the method panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Faults {
    Never,
    /// In debug builds, for integers.
    Debug,
    Always,
    /// Always, and for a further reason in debug builds.
    AlwaysAndDebug,
}

const fn method(
    name: &'static str,
    of: Of,
    arguments: &'static [Is],
    result: Is,
    faults: Faults,
) -> Signature {
    Signature { name, of, arguments, result, faults }
}

/// The methods of numbers. Their meaning is that of Rust's standard library; the header has them under the
/// same names.
#[rustfmt::skip]
pub(super) static NUMBERS: &[Signature] = {
    use Faults::{Always, AlwaysAndDebug, Debug, Never};
    use Is::{Bits, Bool, F32, F64, I32, Pair, Same, U32, Unsigned as AsUnsigned};
    use Of::{AnyFloat, Floats, Halves, Integers, Numbers, Signed, Unsigned};
    &[
        // All numbers have these.
        method("min", Numbers, &[Same], Same, Never),
        method("max", Numbers, &[Same], Same, Never),
        method("clamp", Numbers, &[Same, Same], Same, Always),
        // Integers have these.
        method("abs", Signed, &[], Same, Debug),
        method("signum", Signed, &[], Same, Never),
        method("is_positive", Signed, &[], Bool, Never),
        method("is_negative", Signed, &[], Bool, Never),
        method("unsigned_abs", Signed, &[], AsUnsigned, Never),
        method("wrapping_abs", Signed, &[], Same, Never),
        method("abs_diff", Integers, &[Same], AsUnsigned, Never),
        method("pow", Integers, &[U32], Same, Debug),
        method("wrapping_add", Integers, &[Same], Same, Never),
        method("wrapping_sub", Integers, &[Same], Same, Never),
        method("wrapping_mul", Integers, &[Same], Same, Never),
        method("wrapping_neg", Integers, &[], Same, Never),
        method("wrapping_div", Integers, &[Same], Same, Always),
        method("wrapping_rem", Integers, &[Same], Same, Always),
        method("wrapping_shl", Integers, &[U32], Same, Never),
        method("wrapping_shr", Integers, &[U32], Same, Never),
        method("wrapping_pow", Integers, &[U32], Same, Never),
        method("saturating_add", Integers, &[Same], Same, Never),
        method("saturating_sub", Integers, &[Same], Same, Never),
        method("saturating_mul", Integers, &[Same], Same, Never),
        method("saturating_pow", Integers, &[U32], Same, Never),
        method("count_ones", Integers, &[], U32, Never),
        method("count_zeros", Integers, &[], U32, Never),
        method("leading_zeros", Integers, &[], U32, Never),
        method("trailing_zeros", Integers, &[], U32, Never),
        method("leading_ones", Integers, &[], U32, Never),
        method("trailing_ones", Integers, &[], U32, Never),
        method("rotate_left", Integers, &[U32], Same, Never),
        method("rotate_right", Integers, &[U32], Same, Never),
        method("swap_bytes", Integers, &[], Same, Never),
        method("reverse_bits", Integers, &[], Same, Never),
        method("div_euclid", Integers, &[Same], Same, Always),
        method("rem_euclid", Integers, &[Same], Same, Always),
        method("is_power_of_two", Unsigned, &[], Bool, Never),
        method("next_power_of_two", Unsigned, &[], Same, Debug),
        method("div_ceil", Unsigned, &[Same], Same, Always),
        method("next_multiple_of", Unsigned, &[Same], Same, AlwaysAndDebug),
        method("is_multiple_of", Unsigned, &[Same], Bool, Never),
        method("isqrt", Unsigned, &[], Same, Never),
        method("ilog2", Integers, &[], U32, Always),
        method("ilog10", Integers, &[], U32, Always),
        // Floats have these.
        method("abs", Floats, &[], Same, Never),
        method("signum", AnyFloat, &[], Same, Never),
        method("copysign", AnyFloat, &[Same], Same, Never),
        method("sqrt", Floats, &[], Same, Never),
        method("cbrt", Floats, &[], Same, Never),
        method("floor", Floats, &[], Same, Never),
        method("ceil", Floats, &[], Same, Never),
        method("round", Floats, &[], Same, Never),
        method("round_ties_even", Floats, &[], Same, Never),
        method("trunc", Floats, &[], Same, Never),
        method("fract", Floats, &[], Same, Never),
        method("mul_add", Floats, &[Same, Same], Same, Never),
        method("recip", Floats, &[], Same, Never),
        method("powi", Floats, &[I32], Same, Never),
        method("powf", Floats, &[Same], Same, Never),
        method("exp", Floats, &[], Same, Never),
        method("exp2", Floats, &[], Same, Never),
        method("exp_m1", Floats, &[], Same, Never),
        method("ln", Floats, &[], Same, Never),
        method("ln_1p", Floats, &[], Same, Never),
        method("log2", Floats, &[], Same, Never),
        method("log10", Floats, &[], Same, Never),
        method("log", Floats, &[Same], Same, Never),
        method("sin", Floats, &[], Same, Never),
        method("cos", Floats, &[], Same, Never),
        method("tan", Floats, &[], Same, Never),
        method("sin_cos", Floats, &[], Pair, Never),
        method("asin", Floats, &[], Same, Never),
        method("acos", Floats, &[], Same, Never),
        method("atan", Floats, &[], Same, Never),
        method("atan2", Floats, &[Same], Same, Never),
        method("sinh", Floats, &[], Same, Never),
        method("cosh", Floats, &[], Same, Never),
        method("tanh", Floats, &[], Same, Never),
        method("asinh", Floats, &[], Same, Never),
        method("acosh", Floats, &[], Same, Never),
        method("atanh", Floats, &[], Same, Never),
        method("hypot", Floats, &[Same], Same, Never),
        method("to_degrees", Floats, &[], Same, Never),
        method("to_radians", Floats, &[], Same, Never),
        method("div_euclid", Floats, &[Same], Same, Never),
        method("rem_euclid", Floats, &[Same], Same, Never),
        method("is_nan", AnyFloat, &[], Bool, Never),
        method("is_finite", AnyFloat, &[], Bool, Never),
        method("is_infinite", AnyFloat, &[], Bool, Never),
        method("is_normal", AnyFloat, &[], Bool, Never),
        method("is_sign_positive", AnyFloat, &[], Bool, Never),
        method("is_sign_negative", AnyFloat, &[], Bool, Never),
        method("to_bits", AnyFloat, &[], Bits, Never),
        method("to_f32", Halves, &[], F32, Never),
        method("to_f64", Halves, &[], F64, Never),
    ]
};

/// The rows of the book's table of them: which numbers have them, and their names.
pub fn methods_of_numbers() -> Vec<(&'static str, Vec<&'static str>)> {
    let of = |of: Of| NUMBERS.iter().filter(move |method| method.of == of).map(|method| method.name);
    Of::ALL.into_iter().map(|numbers| (numbers.said(), of(numbers).collect())).collect()
}

/// The method of this name on a receiver, which may not be known yet; the candidates by name otherwise.
pub(super) fn number_method(types: &Types, receiver: Ty, name: &str) -> Option<&'static Signature> {
    let mut named = NUMBERS.iter().filter(|method| method.name == name);
    match types.shape(types.value(receiver)) {
        Shape::Number(number) => named.find(|method| method.of.has(*number)),
        Shape::Unknown(unknown) => match unknown.literal {
            Some(super::types::Literal::Float) => named.find(|method| method.of.has(Number::F64)),
            Some(super::types::Literal::Integer) => named.find(|method| method.of.has(Number::I32)),
            None => named.next(),
        },
        Shape::Named(_) => named.next(),
        _ => None,
    }
}

/// The type of an argument or of the result, for this receiver.
pub(super) fn type_of(types: &mut Types, receiver: Ty, is: Is) -> Ty {
    let receiver = types.value(receiver);
    match is {
        Is::Same => receiver,
        Is::U32 => types.number(Number::U32),
        Is::I32 => types.number(Number::I32),
        Is::F32 => types.number(Number::F32),
        Is::F64 => types.number(Number::F64),
        Is::Bool => types.bool(),
        Is::Pair => types.add(Shape::Tuple(vec![receiver, receiver])),
        Is::Unsigned | Is::Bits => match types.as_number(receiver) {
            Some(Number::I8 | Number::U8) => types.number(Number::U8),
            Some(Number::I16 | Number::U16 | Number::F16 | Number::Bf16) => types.number(Number::U16),
            Some(Number::I32 | Number::U32 | Number::F32) => types.number(Number::U32),
            Some(Number::I64 | Number::U64 | Number::F64) => types.number(Number::U64),
            Some(Number::Isize | Number::Usize) => types.number(Number::Usize),
            // C++ and rustc know it by the receiver.
            None => {
                let part = if is == Is::Bits { Part::Bits } else { Part::Unsigned };
                types.part(receiver, part).unwrap_or_else(|| types.foreign())
            }
        },
    }
}

/// The names of the methods of a number, or of slices, for "did you mean".
pub(super) fn names(number: Option<Number>) -> impl Iterator<Item = &'static str> {
    let of_slices = ["len", "is_empty", "get", "iter"].into_iter().filter(move |_| number.is_none());
    let of_numbers = NUMBERS.iter().filter(move |method| number.is_some_and(|number| method.of.has(number)));
    of_numbers.map(|method| method.name).chain(of_slices)
}
