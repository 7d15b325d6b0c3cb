//! The types of random kernels.

use std::fmt;

/// A type of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
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
    F32,
    F64,
}

pub const NUMBERS: [(Number, &str); 12] = [
    (Number::U8, "u8"),
    (Number::U16, "u16"),
    (Number::U32, "u32"),
    (Number::U64, "u64"),
    (Number::Usize, "usize"),
    (Number::I8, "i8"),
    (Number::I16, "i16"),
    (Number::I32, "i32"),
    (Number::I64, "i64"),
    (Number::Isize, "isize"),
    (Number::F32, "f32"),
    (Number::F64, "f64"),
];

impl Number {
    pub fn name(self) -> &'static str {
        NUMBERS.iter().find(|(number, _)| *number == self).expect("all are named").1
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    pub fn is_signed(self) -> bool {
        self.name().starts_with('i')
    }

    pub fn bits(self) -> u32 {
        match self {
            Self::U8 | Self::I8 => 8,
            Self::U16 | Self::I16 => 16,
            Self::U32 | Self::I32 | Self::F32 => 32,
            Self::U64 | Self::I64 | Self::Usize | Self::Isize | Self::F64 => 64,
        }
    }

    /// The greatest integer.
    pub fn greatest(self) -> u64 {
        let bits = self.bits() - u32::from(self.is_signed());
        u64::MAX >> (64 - bits)
    }

    /// The unsigned integer of the same size.
    pub fn unsigned(self) -> Self {
        match self {
            Self::I8 => Self::U8,
            Self::I16 => Self::U16,
            Self::I32 => Self::U32,
            Self::I64 => Self::U64,
            Self::Isize => Self::Usize,
            other => other,
        }
    }

    /// Whether `Self::from(other)` exists and is in the language.
    pub fn is_from(self, other: Self) -> bool {
        let (to, from) = (self.bits(), other.bits());
        match (self.is_float(), other.is_float()) {
            (true, true) => to > from,
            (true, false) => from <= 16 || (self == Self::F64 && from == 32),
            (false, true) => false,
            (false, false) if matches!(other, Self::Usize | Self::Isize) => false,
            (false, false) => match self {
                Self::Usize => matches!(other, Self::U8 | Self::U16),
                Self::Isize => matches!(other, Self::U8 | Self::I8 | Self::I16),
                _ => to > from && (self.is_signed() || !other.is_signed()),
            },
        }
    }
}

/// A type of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ty {
    Number(Number),
    Bool,
    Tuple(Vec<Ty>),
    Array(Box<Ty>, usize),
}

impl Ty {
    /// The bytes of a value in memory. Tuples are in no memory that two languages share.
    pub fn size(&self) -> usize {
        match self {
            Self::Number(number) => number.bits() as usize / 8,
            Self::Bool => 1,
            Self::Tuple(_) => panic!("a tuple in memory"),
            Self::Array(of, length) => of.size() * length,
        }
    }

    /// The type of the single values in it.
    pub fn innermost(&self) -> &Self {
        match self {
            Self::Array(of, _) => of.innermost(),
            other => other,
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => f.write_str(number.name()),
            Self::Bool => f.write_str("bool"),
            Self::Tuple(parts) => {
                let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
                write!(f, "({})", parts.join(", "))
            }
            Self::Array(of, length) => write!(f, "[{of}; {length}]"),
        }
    }
}
