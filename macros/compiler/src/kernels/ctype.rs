//! Types of kernel parameters, as C++ spells them and as Rust does.

use std::fmt;

use super::lexer::{Kind, Token};

/// The type of a parameter in the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CType {
    /// Passed by value: `unsigned int`, `Params`.
    Value(Base),
    /// `const float*`, `float* __restrict__`, `float x[]`.
    Pointer {
        /// What it points to.
        pointee: Base,
        /// Whether that is `const`.
        constant: bool,
    },
    /// Something that plain text does not tell: a function pointer, a reference.
    Opaque,
}

/// A type without pointers and qualifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// As the source spells it, without qualifiers.
    pub text: String,
    /// What it is.
    pub scalar: Scalar,
}

/// What is known of a type from its name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// A number type that Rust has too.
    Is(Primitive),
    /// `char`, whose sign is the platform's choice.
    Char,
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

impl Base {
    /// Whether a Rust type, `None` where its name tells nothing, can be this.
    pub fn admits(&self, rust: Option<Primitive>) -> bool {
        let Some(rust) = rust else { return true };
        match self.scalar {
            Scalar::Is(primitive) => primitive == rust,
            Scalar::Char => matches!(rust, Primitive::I8 | Primitive::U8),
            Scalar::Compound => false,
            Scalar::Unknown => true,
        }
    }

    /// The Rust type to declare for it.
    pub fn rust(&self) -> String {
        match self.scalar {
            Scalar::Is(Primitive::U64) if self.text.ends_with("size_t") => "usize".to_owned(),
            Scalar::Is(primitive) => primitive.rust().to_owned(),
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
            Self::Opaque => "_".to_owned(),
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
            Self::Opaque => f.write_str("…"),
        }
    }
}

/// The type and the name in one parameter's tokens.
pub(super) fn parameter(tokens: &[Token]) -> (CType, Option<String>) {
    let declarator = before_default(tokens);
    let mut reader = Reader { tokens: declarator, constant: false };
    reader.skip_qualifiers();
    let Some(text) = reader.base() else { return (CType::Opaque, None) };
    reader.skip_qualifiers();
    let constant = reader.constant;
    let mut pointers = Vec::new();
    while reader.tokens.first().is_some_and(|token| token.is('*')) {
        reader.tokens = &reader.tokens[1..];
        reader.constant = false;
        reader.skip_qualifiers();
        pointers.push(reader.constant);
    }
    let name = reader.tokens.first().and_then(Token::word).map(str::to_owned);
    if name.is_some() {
        reader.tokens = &reader.tokens[1..];
    }
    reader.skip_qualifiers();
    match reader.tokens {
        [] => {}
        [open, ..] if open.is('[') => pointers.push(false),
        _ => return (CType::Opaque, name),
    }
    let scalar = scalar(&text);
    let ty = match pointers[..] {
        [] => CType::Value(Base { text, scalar }),
        [_] => CType::Pointer { pointee: Base { text, scalar }, constant },
        [.., constant, _] => CType::Pointer {
            pointee: Base { text: text + &"*".repeat(pointers.len() - 1), scalar: Scalar::Compound },
            constant,
        },
    };
    (ty, name)
}

/// `int n = 4` without the default.
fn before_default(tokens: &[Token]) -> &[Token] {
    let end = tokens.iter().position(|token| token.is('=')).unwrap_or(tokens.len());
    &tokens[..end]
}

struct Reader<'a> {
    tokens: &'a [Token],
    /// Whether a `const` was skipped.
    constant: bool,
}

impl Reader<'_> {
    fn skip_qualifiers(&mut self) {
        loop {
            match self.tokens {
                [token, rest @ ..] if token.is_word("const") => {
                    self.constant = true;
                    self.tokens = rest;
                }
                [token, rest @ ..] if token.word().is_some_and(is_qualifier) => {
                    self.tokens = rest;
                }
                [token, ..] if token.word().is_some_and(takes_parentheses) => {
                    self.tokens = after_group(&self.tokens[1..], '(', ')');
                }
                [open, second, ..] if open.is('[') && second.is('[') => {
                    self.tokens = after_group(self.tokens, '[', ']');
                }
                _ => return,
            }
        }
    }

    /// Takes the name of a type; `const` may stand between its words.
    fn base(&mut self) -> Option<String> {
        let mut words: Vec<&str> = Vec::new();
        while let Some(word) = self.tokens.first().and_then(Token::word) {
            if !is_builtin(word) {
                break;
            }
            words.push(word);
            self.tokens = &self.tokens[1..];
            self.skip_qualifiers();
        }
        if !words.is_empty() {
            return Some(words.join(" "));
        }
        self.path()
    }

    /// Takes `Params`, `struct Params`, `math::Vec<float, 3>`.
    fn path(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.tokens {
                [token, rest @ ..] if token.word().is_some_and(is_elaboration) => {
                    self.tokens = rest;
                    continue;
                }
                [first, second, rest @ ..] if first.is(':') && second.is(':') => {
                    text.push_str("::");
                    self.tokens = rest;
                    continue;
                }
                _ => {}
            }
            text.push_str(self.tokens.first()?.word()?);
            self.tokens = &self.tokens[1..];
            if self.tokens.first().is_some_and(|token| token.is('<')) {
                let rest = after_group(self.tokens, '<', '>');
                let arguments = &self.tokens[..self.tokens.len() - rest.len()];
                text.extend(arguments.iter().map(|token| match &token.kind {
                    Kind::Word(word) => word.clone(),
                    Kind::Text(text) => format!("\"{text}\""),
                    Kind::Mark(',') => ", ".to_owned(),
                    Kind::Mark(mark) => mark.to_string(),
                }));
                self.tokens = rest;
            }
            match self.tokens {
                [first, second, ..] if first.is(':') && second.is(':') => {}
                _ => return Some(text),
            }
        }
    }
}

/// What follows the group that opens at the first token.
pub(super) fn after_group(tokens: &[Token], open: char, close: char) -> &[Token] {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        if token.is(open) {
            depth += 1;
        } else if token.is(close) {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            return &tokens[at + 1..];
        }
    }
    &[]
}

fn is_qualifier(word: &str) -> bool {
    matches!(
        word,
        "volatile"
            | "register"
            | "restrict"
            | "__restrict"
            | "__restrict__"
            | "__grid_constant__"
            | "__const__"
    )
}

/// Words that take a parenthesised argument and are no part of a type.
pub(super) fn takes_parentheses(word: &str) -> bool {
    matches!(
        word,
        "__launch_bounds__"
            | "__cluster_dims__"
            | "__block_size__"
            | "__maxnreg__"
            | "__attribute__"
            | "__declspec"
            | "__align__"
            | "alignas"
    )
}

fn is_builtin(word: &str) -> bool {
    matches!(
        word,
        "unsigned"
            | "signed"
            | "char"
            | "short"
            | "int"
            | "long"
            | "float"
            | "double"
            | "bool"
            | "void"
            | "__int64"
    )
}

fn is_elaboration(word: &str) -> bool {
    matches!(word, "struct" | "class" | "union" | "enum" | "typename")
}

fn scalar(text: &str) -> Scalar {
    use Primitive::*;
    let primitive = match text.trim_start_matches("::").trim_start_matches("std::") {
        "char" => return Scalar::Char,
        "bool" => Bool,
        "float" | "float32_t" => F32,
        "double" | "float64_t" => F64,
        "__half" | "half" => F16,
        "__nv_bfloat16" | "nv_bfloat16" => Bf16,
        "int8_t" => I8,
        "int16_t" => I16,
        "int32_t" => I32,
        "int64_t" | "ptrdiff_t" | "intptr_t" | "ssize_t" => I64,
        "uint8_t" | "uchar" => U8,
        "uint16_t" | "ushort" => U16,
        "uint32_t" | "uint" => U32,
        "uint64_t" | "uintptr_t" | "size_t" => U64,
        other => return integer(other).map_or_else(|| named(other), Scalar::Is),
    };
    Scalar::Is(primitive)
}

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
        // `long` has 32 bits on Windows.
        (1, false, false) if cfg!(windows) => (I32, U32),
        (1 | 2, false, false) => (I64, U64),
        _ => return None,
    };
    Some(if unsigned { without_sign } else { signed })
}

/// CUDA's vector types are known to be no number; any other name may be a typedef of one.
fn named(text: &str) -> Scalar {
    let element = text.trim_end_matches(['2', '3', '4']);
    let is_vector = element.len() + 1 == text.len()
        && matches!(
            element,
            "char"
                | "uchar"
                | "short"
                | "ushort"
                | "int"
                | "uint"
                | "long"
                | "ulong"
                | "longlong"
                | "ulonglong"
                | "float"
                | "double"
                | "__half"
                | "half"
        );
    if is_vector || text == "dim3" { Scalar::Compound } else { Scalar::Unknown }
}
