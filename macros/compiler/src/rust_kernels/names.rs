//! Names in C++: unique in a function, and none that C++, CUDA or the header uses.

use std::collections::BTreeSet;

/// The words that a generated name may not be. The header's own names are in the namespace `tw`, but for
/// those of number types.
const RESERVED: &[&str] = &[
    // C++
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char8_t",
    "char16_t",
    "char32_t",
    "class",
    "compl",
    "concept",
    "const",
    "consteval",
    "constexpr",
    "constinit",
    "const_cast",
    "continue",
    "co_await",
    "co_return",
    "co_yield",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "union",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "main",
    "NULL",
    "INFINITY",
    "NAN",
    "assert",
    "std",
    "typeof",
    // CUDA
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "dim3",
    "uint3",
    "half",
    // The header's
    "tw",
    "line",
    "thalweg_fault",
    "u8",
    "u16",
    "u32",
    "u64",
    "usize",
    "i8",
    "i16",
    "i32",
    "i64",
    "isize",
    "f16",
    "bf16",
    "f32",
    "f64",
];

/// The names that a function uses in C++.
#[derive(Debug, Clone, Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// Keeps a name for something else.
    pub(super) fn reserve(&mut self, name: &str) {
        self.0.insert(in_cpp(name));
    }

    /// A name like that of Rust which no other has: `y`, `y_2`.
    pub(super) fn unique(&mut self, name: &str) -> String {
        let base = in_cpp(name);
        let mut unique = base.clone();
        let mut count = 1;
        while !self.0.insert(unique.clone()) {
            count += 1;
            unique = format!("{}_{count}", base.trim_end_matches('_'));
        }
        unique
    }
}

/// The name in C++, which has other keywords and fewer letters.
pub(super) fn in_cpp(name: &str) -> String {
    let name = name.strip_prefix("r#").unwrap_or(name);
    let mut text = String::new();
    for letter in name.chars() {
        match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => text.push(letter),
            other => text += &format!("u{:X}", u32::from(other)),
        }
    }
    // C++ keeps names that begin with `_` or hold `__` for itself.
    while let Some(at) = text.find("__") {
        text.replace_range(at..at + 2, "_u");
    }
    if text.starts_with('_') {
        text = format!("u{text}");
    }
    if RESERVED.contains(&text.as_str()) { format!("{text}_") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_none_of_cpps() {
        let mut names = Names::default();
        let unique: Vec<_> =
            ["y", "y", "int", "int", "r#type", "größe", "__global__", "_", "tw", "threadIdx", "y_2"]
                .map(|name| names.unique(name))
                .into();
        let mut once = unique.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), unique.len(), "{unique:?}");
        assert!(unique.iter().all(|name| !RESERVED.contains(&name.as_str())), "{unique:?}");
        assert!(unique.iter().all(|name| !name.contains("__") && !name.starts_with('_')), "{unique:?}");
        assert_eq!(&unique[..4], ["y", "y_2", "int_", "int_2"]);
    }
}
