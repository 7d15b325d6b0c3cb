//! Types of kernel parameters, as C++ spells them and as Rust does.

use std::fmt;

/// The type of a parameter in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CType {
    /// Passed by value: `unsigned int`, `Params`.
    Value(Base),
    /// `const float*`, `float* __restrict__`, `float x[]`.
    Pointer {
        /// The type that it points to.
        pointee: Base,
        /// Whether that is `const`.
        constant: bool,
    },
    /// `float&`, which kernels cannot take.
    Reference(Base),
    /// `float (*f)(float)`.
    Function,
    /// Something that plain text does not tell.
    Opaque,
}

/// A type without pointers and qualifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// As the source spells it, without qualifiers.
    pub text: String,
    /// The kind of the type.
    pub scalar: Scalar,
}

/// The kind of a type, as far as its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// A number type that Rust has too.
    Is(Primitive),
    /// `char`, whose sign is the platform's choice.
    Char,
    /// An `enum`, as wide as this integer.
    Enum(Primitive),
    /// `float4` or a pointer: no number type of Rust.
    Compound,
    /// A struct, a typedef or a macro: its width is unknown.
    Unknown,
}

macro_rules! primitives {
    ($($name:ident $rust:literal)*) => {
        /// A number type that C++ and Rust share.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "named as Rust names them")]
        pub enum Primitive { $($name),* }

        impl Primitive {
            /// Its name in Rust.
            pub fn rust(self) -> &'static str {
                match self { $(Self::$name => $rust),* }
            }

            /// The primitive that Rust calls `name`.
            pub fn from_rust(name: &str) -> Option<Self> {
                match name {
                    $($rust => Some(Self::$name),)*
                    "usize" => Some(Self::U64),
                    "isize" => Some(Self::I64),
                    _ => None,
                }
            }
        }
    };
}
primitives! {
    Bool "bool"
    I8 "i8" I16 "i16" I32 "i32" I64 "i64"
    U8 "u8" U16 "u16" U32 "u32" U64 "u64"
    F16 "f16" Bf16 "bf16" F32 "f32" F64 "f64"
}

impl Primitive {
    /// The size in bytes.
    pub fn size(self) -> u64 {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    fn is_integer(self) -> bool {
        !matches!(self, Self::Bool | Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }
}

impl Scalar {
    /// The size in bytes, if it is a number.
    pub(super) fn size(self) -> Option<u64> {
        match self {
            Self::Is(primitive) | Self::Enum(primitive) => Some(primitive.size()),
            Self::Char => Some(1),
            Self::Compound | Self::Unknown => None,
        }
    }

    /// Whether a number type of Rust can be this.
    pub(crate) fn admits(self, rust: Primitive) -> bool {
        match self {
            Self::Is(primitive) => primitive == rust,
            Self::Char => matches!(rust, Primitive::I8 | Primitive::U8),
            Self::Enum(integer) => rust.is_integer() && rust.size() == integer.size(),
            Self::Compound => false,
            Self::Unknown => true,
        }
    }
}

impl Base {
    /// The type that a source spells `text`.
    pub(super) fn named(text: String) -> Self {
        let scalar = scalar(&text);
        Self { text, scalar }
    }

    /// Whether a Rust type, `None` where its name tells nothing, can be this.
    pub fn admits(&self, rust: Option<Primitive>) -> bool {
        rust.is_none_or(|rust| self.scalar.admits(rust))
    }

    /// The Rust type to declare for it.
    pub fn rust(&self) -> String {
        match self.scalar {
            Scalar::Is(Primitive::U64) if self.text.ends_with("size_t") => "usize".to_owned(),
            Scalar::Is(primitive) | Scalar::Enum(primitive) => primitive.rust().to_owned(),
            Scalar::Char => "i8".to_owned(),
            Scalar::Unknown if self.text == "void" => "u8".to_owned(),
            Scalar::Compound | Scalar::Unknown => self.text.clone(),
        }
    }
}

impl CType {
    /// The Rust type to declare for it.
    pub fn rust(&self) -> String {
        match self {
            Self::Value(base) => base.rust(),
            Self::Pointer { pointee, constant: true } => format!("&[{}]", pointee.rust()),
            Self::Pointer { pointee, constant: false } => format!("&mut [{}]", pointee.rust()),
            Self::Reference(base) => format!("&mut [{}]", base.rust()),
            Self::Function | Self::Opaque => "_".to_owned(),
        }
    }
}

impl fmt::Display for CType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(base) => f.write_str(&base.text),
            Self::Pointer { pointee, constant } => {
                write!(f, "{}{}*", if *constant { "const " } else { "" }, pointee.text)
            }
            Self::Reference(base) => write!(f, "{}&", base.text),
            Self::Function => f.write_str("… (*)(…)"),
            Self::Opaque => f.write_str("…"),
        }
    }
}

fn scalar(text: &str) -> Scalar {
    use Primitive::*;
    let primitive = match text
        .trim_start_matches("::")
        .trim_start_matches("cuda::")
        .trim_start_matches("std::")
    {
        "char" => return Scalar::Char,
        "bool" => Bool,
        "float" | "float32_t" => F32,
        "double" | "float64_t" => F64,
        "wchar_t" if WINDOWS => U16,
        "wchar_t" => I32,
        "char8_t" => U8,
        "char16_t" => U16,
        "char32_t" => U32,
        "__half" | "half" => F16,
        "__nv_bfloat16" | "nv_bfloat16" => Bf16,
        "int8_t" => I8,
        "int16_t" => I16,
        "int32_t" => I32,
        "int64_t" | "ptrdiff_t" | "intptr_t" | "ssize_t" | "intmax_t" | "time_t" => I64,
        "clock_t" if WINDOWS => I32,
        "clock_t" => I64,
        "uint8_t" | "uchar" => U8,
        "uint16_t" | "ushort" => U16,
        "uint32_t" | "uint" => U32,
        "uint64_t" | "uintptr_t" | "size_t" | "uintmax_t" => U64,
        // These are from the toolkit's headers.
        "cudaTextureObject_t" | "cudaSurfaceObject_t" | "CUtexObject" | "CUsurfObject" | "CUdeviceptr" => U64,
        other => return integer(other).map_or_else(|| named(other), Scalar::Is),
    };
    Scalar::Is(primitive)
}

/// Whether `long` and `wchar_t` have the widths of Windows. NVRTC follows the machine where the program runs;
/// a macro knows only the machine that compiles it, and assumes that the two agree.
const WINDOWS: bool = cfg!(windows);

/// `long unsigned int` and its like, in any order.
fn integer(text: &str) -> Option<Primitive> {
    use Primitive::*;
    let (mut unsigned, mut longs, mut short, mut char) = (false, 0, false, false);
    for word in text.split(' ') {
        match word {
            "unsigned" => unsigned = true,
            "signed" | "int" => {}
            "long" => longs += 1,
            "__int64" => longs = 2,
            "short" => short = true,
            "char" => char = true,
            _ => return None,
        }
    }
    let (signed, without_sign) = match (longs, short, char) {
        (0, false, true) => (I8, U8),
        (0, true, false) => (I16, U16),
        (0, false, false) => (I32, U32),
        (1, false, false) if WINDOWS => (I32, U32),
        (1 | 2, false, false) => (I64, U64),
        _ => return None,
    };
    Some(if unsigned { without_sign } else { signed })
}

/// CUDA's vector types are known to be no number; any other name may be a typedef of one.
fn named(text: &str) -> Scalar {
    match vector(text) {
        Some((_, 2..)) => Scalar::Compound,
        _ => Scalar::Unknown,
    }
}

/// The elements of one of CUDA's vector types, `float4`, and how many there are.
pub(super) fn vector(text: &str) -> Option<(Primitive, u64)> {
    use Primitive::*;
    if text == "dim3" {
        return Some((U32, 3));
    }
    // `double4_32a`, since CUDA 13.
    let aligned = text.strip_suffix("_16a").or_else(|| text.strip_suffix("_32a"));
    let text = aligned.filter(|text| text.ends_with('4')).unwrap_or(text);
    let count = text.chars().last()?.to_digit(10).filter(|count| (1..=4).contains(count))?;
    let long = if WINDOWS { (I32, U32) } else { (I64, U64) };
    let element = match &text[..text.len() - 1] {
        "char" => I8,
        "uchar" => U8,
        "short" => I16,
        "ushort" => U16,
        "int" => I32,
        "uint" => U32,
        "long" => long.0,
        "ulong" => long.1,
        "longlong" => I64,
        "ulonglong" => U64,
        "float" => F32,
        "double" => F64,
        "__half" | "half" if count == 2 => F16,
        "__nv_bfloat16" | "nv_bfloat16" if count == 2 => Bf16,
        _ => return None,
    };
    Some((element, count.into()))
}
