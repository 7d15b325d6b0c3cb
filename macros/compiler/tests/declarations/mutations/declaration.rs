//! The right declaration for a kernel. Of the code under test, only the reader of prototypes is used to find
//! it.

use std::collections::BTreeMap;
use std::fmt;

use thalweg_compiler::cuda_source::prototype::{CType, Linkage, Prototype};

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pass {
    Value,
    Read,
    ReadWrite,
    Out,
}

/// The kind of type that a parameter, or its element, has in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    Number,
    /// `char`, whose sign is the platform's.
    Char,
    /// An enum, which Rust takes as a signed or an unsigned integer.
    Enum,
    /// One of CUDA's vector types.
    Vector,
    /// `void*`.
    Untyped,
    /// A struct, or a type that only a header of the toolkit tells.
    Struct,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    pub name: String,
    pub pass: Pass,
    /// The type in Rust, of an element where it is a slice.
    pub ty: String,
    pub sort: Sort,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    pub kernel: String,
    /// The instance that `#[instantiate]` names, where C++ mangles the name.
    pub instance: Option<String>,
    pub parameters: Vec<Parameter>,
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, ty, .. } = self;
        match self.pass {
            Pass::Value => write!(f, "{name}: {ty}"),
            Pass::Read => write!(f, "{name}: &[{ty}]"),
            Pass::ReadWrite => write!(f, "{name}: &mut [{ty}]"),
            Pass::Out => write!(f, "{name}: Out<[{ty}]>"),
        }
    }
}

impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(instance) = &self.instance {
            write!(f, "#[instantiate(\"{instance}\")] ")?;
        }
        let parameters: Vec<_> = self.parameters.iter().map(Parameter::to_string).collect();
        write!(f, "safe fn {}({});", self.kernel, parameters.join(", "))
    }
}

impl Declaration {
    /// Whether another declaration says the same, whatever it calls the parameters.
    pub fn says(&self, other: &Self) -> bool {
        let of = |one: &Self| one.parameters.iter().map(|p| (p.pass, p.ty.clone())).collect::<Vec<_>>();
        of(self) == of(other)
    }
}

/// The stand-in for a struct of the source, with the same layout.
pub const STRUCT: &str = "Same";

const FUNCTION: &str = "(*)";

/// The types that names stand for in a source and the files that it includes, one for each branch, in order.
pub type Names = BTreeMap<String, Vec<String>>;

/// The simple `typedef`s, `using`s and `#define`s of a text, and its enums.
pub fn names(text: &str, names: &mut Names) {
    let mut add = |name: &str, ty: String| {
        let known: &mut Vec<String> = names.entry(name.to_owned()).or_default();
        if name != ty && !known.contains(&ty) {
            known.push(ty);
        }
    };
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let words: Vec<&str> = line.trim_end_matches(';').split_whitespace().collect();
        let plain = |words: &[&str]| {
            let is_word = |word: &&str| word.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':');
            (!words.is_empty() && words.iter().all(is_word)).then(|| words.join(" "))
        };
        match &words[..] {
            // Nothing is right for a pointer to a function.
            ["typedef", ..] if line.contains("(*") => {
                let name = line.split("(*").nth(1).and_then(|rest| rest.split(')').next());
                add(name.unwrap_or_default(), FUNCTION.to_owned());
            }
            ["typedef", ty @ .., name] if line.ends_with(';') && !ty.contains(&"struct") => {
                if let (Some(ty), Some(name)) = (plain(ty), plain(&[name])) {
                    add(&name, ty);
                }
            }
            ["using", name, "=", ty @ ..] => {
                if let Some(ty) = plain(ty) {
                    add(name, ty);
                }
            }
            ["#define", name, ty @ ..] if plain(&[name]).is_some() => {
                let ty = plain(ty).filter(|ty| number(ty).is_some() || vector(ty).is_some());
                if let Some(ty) = ty {
                    add(name, ty);
                }
            }
            ["enum", "class" | "struct", name, ..] | ["enum", name, ..] => {
                add(name.trim_end_matches('{'), "enum".to_owned());
            }
            _ => {}
        }
    }
}

/// The right declaration, with the definition of index `branch` for each name that the branches of an `#if`
/// define. `None` if there is no right one.
pub fn right(kernel: &Prototype, source: &str, names: &Names, branch: usize) -> Option<Declaration> {
    let template = match kernel.linkage {
        Linkage::Template => template(source, kernel)?,
        _ => Vec::new(),
    };
    let instance = match kernel.linkage {
        Linkage::C => None,
        Linkage::Cxx => Some(kernel.name.clone()),
        Linkage::Template => {
            let arguments: Vec<_> = template.iter().map(|(_, argument)| argument.as_str()).collect();
            Some(format!("{}<{}>", kernel.name, arguments.join(", ")))
        }
    };
    let parameter = |(at, parameter): (usize, &thalweg_compiler::cuda_source::prototype::Parameter)| {
        let (base, pass) = match &parameter.ty {
            CType::Value(base) => (base, Pass::Value),
            CType::Pointer { pointee, constant: true } => (pointee, Pass::Read),
            CType::Pointer { pointee, constant: false } => (pointee, Pass::ReadWrite),
            CType::Reference(_) | CType::Function | CType::Opaque => return None,
        };
        let text = template.iter().find(|(name, _)| *name == base.text).map_or(&base.text, |(_, ty)| ty);
        let (ty, sort) = meaning(text, names, branch, 8)?;
        Some(Parameter { name: format!("p{at}"), pass, ty, sort })
    };
    let parameters = kernel.parameters.iter().enumerate().map(parameter).collect::<Option<Vec<_>>>()?;
    Some(Declaration { kernel: kernel.name.clone(), instance, parameters })
}

/// The parameters of a kernel's template, each with an argument.
fn template(source: &str, kernel: &Prototype) -> Option<Vec<(String, String)>> {
    let at = source.find(&format!("{}(", kernel.name))?;
    let start = source[..at].rfind("template")?;
    let open = start + source[start..].find('<')?;
    let close = open + source[open..].find(">")?;
    let argument = |parameter: &str| {
        let name = parameter.split('=').next()?.split_whitespace().last()?.to_owned();
        let words: Vec<&str> = parameter.split_whitespace().collect();
        let argument = match words.first()? {
            &"typename" | &"class" => "float",
            &"bool" => "true",
            &"int" | &"unsigned" | &"size_t" | &"const" | &"uint32_t" => "4",
            _ => return None,
        };
        Some((name, argument.to_owned()))
    };
    source[open + 1..close].split(',').map(argument).collect()
}

/// The Rust type for a type of the source.
fn meaning(text: &str, names: &Names, branch: usize, depth: usize) -> Option<(String, Sort)> {
    if text.ends_with('*') || text == FUNCTION || depth == 0 {
        return None;
    }
    if let Some(found) = names.get(text).filter(|found| !found.is_empty()) {
        let ty = &found[branch.min(found.len() - 1)];
        return meaning(ty, names, branch, depth - 1);
    }
    Some(match (text, number(text), vector(text)) {
        ("void", ..) => ("u8".to_owned(), Sort::Untyped),
        ("char", ..) => ("i8".to_owned(), Sort::Char),
        ("enum", ..) => ("u32".to_owned(), Sort::Enum),
        (_, Some(number), _) => (number.to_owned(), Sort::Number),
        (_, _, Some((element, count))) => (format!("[{element}; {count}]"), Sort::Vector),
        _ => (STRUCT.to_owned(), Sort::Struct),
    })
}

/// C's numbers, and the toolkit's names for them.
fn number(text: &str) -> Option<&'static str> {
    let text = text.trim_start_matches("::").trim_start_matches("std::");
    Some(match text {
        "bool" => "bool",
        "float" | "cufftReal" => "f32",
        "double" | "cufftDoubleReal" => "f64",
        "half" | "__half" => "half::f16",
        "nv_bfloat16" | "__nv_bfloat16" => "half::bf16",
        "signed char" | "int8_t" => "i8",
        "unsigned char" | "uint8_t" | "uchar" => "u8",
        "short" | "int16_t" => "i16",
        "unsigned short" | "uint16_t" | "ushort" => "u16",
        "int" | "signed" | "signed int" | "int32_t" => "i32",
        "unsigned" | "unsigned int" | "uint32_t" | "uint" => "u32",
        "long" | "long int" | "long long" | "long long int" | "int64_t" | "clock_t" | "ptrdiff_t" => "i64",
        "unsigned long" | "unsigned long long" | "unsigned long long int" | "uint64_t" | "size_t" => "u64",
        "cudaTextureObject_t"
        | "cudaSurfaceObject_t"
        | "CUtexObject"
        | "CUsurfObject"
        | "cudaGraphConditionalHandle" => "u64",
        _ => return None,
    })
}

/// CUDA's vector types and those made of them.
fn vector(text: &str) -> Option<(&'static str, u32)> {
    match text {
        "dim3" => return Some(("u32", 3)),
        "cuComplex" | "cuFloatComplex" | "cufftComplex" => return Some(("f32", 2)),
        "cuDoubleComplex" | "cufftDoubleComplex" => return Some(("f64", 2)),
        "half2" | "__half2" => return Some(("half::f16", 2)),
        "nv_bfloat162" | "__nv_bfloat162" => return Some(("half::bf16", 2)),
        _ => {}
    }
    let count = text.chars().last()?.to_digit(10).filter(|count| (1..=4).contains(count))?;
    let element = match &text[..text.len() - 1] {
        "char" => "i8",
        "uchar" => "u8",
        "short" => "i16",
        "ushort" => "u16",
        "int" => "i32",
        "uint" => "u32",
        "long" | "longlong" => "i64",
        "ulong" | "ulonglong" => "u64",
        "float" => "f32",
        "double" => "f64",
        _ => return None,
    };
    Some((element, count))
}
