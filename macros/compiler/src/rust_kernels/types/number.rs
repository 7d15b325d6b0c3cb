//! The types of numbers.

use std::fmt;

use syn::Type;

use crate::groups::peel;

/// A number type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Number {
    U8,
    U16,
    U32,
    U64,
    Usize,
    I8,
    I16,
    I32,
    I64,
    Isize,
    /// `half::f16`
    F16,
    /// `half::bf16`
    Bf16,
    F32,
    F64,
}

impl Number {
    const ALL: [(Self, &'static str); 14] = [
        (Self::U8, "u8"),
        (Self::U16, "u16"),
        (Self::U32, "u32"),
        (Self::U64, "u64"),
        (Self::Usize, "usize"),
        (Self::I8, "i8"),
        (Self::I16, "i16"),
        (Self::I32, "i32"),
        (Self::I64, "i64"),
        (Self::Isize, "isize"),
        (Self::F16, "f16"),
        (Self::Bf16, "bf16"),
        (Self::F32, "f32"),
        (Self::F64, "f64"),
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(number, _)| *number)
    }

    /// The number that a type is the name of.
    pub(crate) fn of(ty: &Type) -> Option<Self> {
        let Type::Path(path) = peel(ty) else { return None };
        Self::named(&path.path.get_ident()?.to_string())
    }

    /// The natural number that a type is the name of.
    pub(crate) fn natural(ty: &Type) -> Option<Self> {
        Self::of(ty).filter(|number| number.is_natural())
    }

    /// The name in Rust, which is that of the C++ type too.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(number, _)| *number == self).map_or("", |(_, name)| name)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64) || self.is_half()
    }

    /// Whether it is a float of the crate `half`: a struct, for Rust, which has no literals.
    pub(crate) fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16)
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64 | Self::Isize)
    }

    /// Whether it is an integer without a sign.
    pub(crate) fn is_natural(self) -> bool {
        !self.is_float() && !self.is_signed()
    }

    /// The bits of an integer. `usize` and `isize` have 64 on a GPU.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::U8 | Self::I8 => 8,
            Self::U16 | Self::I16 | Self::F16 | Self::Bf16 => 16,
            Self::U32 | Self::I32 | Self::F32 => 32,
            Self::U64 | Self::Usize | Self::I64 | Self::Isize | Self::F64 => 64,
        }
    }

    /// Whether C++'s own `+ - *` wrap like Rust's in a release build, with no promotion to a wider type.
    pub(crate) fn wraps_in_cpp(self) -> bool {
        matches!(self, Self::U32 | Self::U64 | Self::Usize)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a literal is the same number in a `f32`, whether C++ reads it as one or as a `f64` before.
pub(crate) fn is_exact(text: &str) -> bool {
    let digits = text.replace('_', "");
    match (digits.parse::<f64>(), digits.parse::<f32>()) {
        (Ok(double), Ok(single)) => double as f32 == single,
        // An integer.
        _ => true,
    }
}
