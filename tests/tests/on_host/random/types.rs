//! The types of random kernels.

use std::fmt;
use std::sync::Arc;

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

/// A type of floats of 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    F16,
    Bf16,
}

impl Half {
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }

    /// The bits of an infinity, beyond which those of NaNs are.
    fn infinity(self) -> u16 {
        match self {
            Self::F16 => 0x7c00,
            Self::Bf16 => 0x7f80,
        }
    }
}

/// A struct of the module. Its fields leave no room between them.
#[derive(Debug, PartialEq, Eq)]
pub struct Structure {
    pub name: String,
    pub fields: Vec<(String, Ty)>,
}

/// A type of values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ty {
    Number(Number),
    Half(Half),
    Bool,
    Tuple(Vec<Ty>),
    Array(Box<Ty>, usize),
    Struct(Arc<Structure>),
}

impl Ty {
    pub fn array(of: Ty, length: usize) -> Self {
        Self::Array(Box::new(of), length)
    }

    /// The bytes of a value in memory. Tuples are in no memory that two languages share.
    pub fn size(&self) -> usize {
        self.leaves().iter().map(|leaf| leaf.alignment()).sum()
    }

    /// The bytes that a value's address is a multiple of.
    pub fn alignment(&self) -> usize {
        match self {
            Self::Number(number) => number.bits() as usize / 8,
            Self::Half(_) => 2,
            Self::Bool => 1,
            Self::Tuple(_) => panic!("a tuple in memory"),
            Self::Array(of, _) => of.alignment(),
            Self::Struct(of) => of.fields.iter().map(|(_, ty)| ty.alignment()).max().expect("it has fields"),
        }
    }

    /// The single values in it, in the order of their bytes.
    pub fn leaves(&self) -> Vec<Self> {
        match self {
            Self::Array(of, length) => vec![of.leaves(); *length].concat(),
            Self::Struct(of) => of.fields.iter().flat_map(|(_, ty)| ty.leaves()).collect(),
            leaf => vec![leaf.clone()],
        }
    }

    /// Whether a `bool` is in it.
    pub fn has_bool(&self) -> bool {
        match self {
            Self::Bool => true,
            Self::Tuple(parts) => parts.iter().any(Self::has_bool),
            Self::Array(of, _) => of.has_bool(),
            Self::Number(_) | Self::Half(_) | Self::Struct(_) => false,
        }
    }

    /// Whether the bytes of a single value are those of a NaN.
    pub fn is_nan(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Number(Number::F32) => f32::from_ne_bytes(bytes.try_into().expect("4 bytes")).is_nan(),
            Self::Number(Number::F64) => f64::from_ne_bytes(bytes.try_into().expect("8 bytes")).is_nan(),
            Self::Half(half) => {
                u16::from_ne_bytes(bytes.try_into().expect("2 bytes")) & 0x7fff > half.infinity()
            }
            _ => false,
        }
    }

    /// The type in C++, of a function that names it by its own name.
    pub fn in_cpp(&self) -> String {
        match self {
            Self::Tuple(_) => panic!("a tuple in a constant"),
            Self::Array(of, length) => format!("tw::Array<{}, {length}>", of.in_cpp()),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => f.write_str(number.name()),
            Self::Half(half) => f.write_str(half.name()),
            Self::Bool => f.write_str("bool"),
            Self::Tuple(parts) => {
                let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
                write!(f, "({})", parts.join(", "))
            }
            Self::Array(of, length) => write!(f, "[{of}; {length}]"),
            Self::Struct(of) => f.write_str(&of.name),
        }
    }
}
