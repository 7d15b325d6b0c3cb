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
    "CUDART_VERSION",
    "va_arg",
    "va_copy",
    "va_end",
    "va_start",
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

/// The functions of C that CUDA's compiler or a host's knows without a declaration. They are in no namespace, and
/// neither are kernels: a kernel of such a name would be another declaration of the function.
#[rustfmt::skip]
const FUNCTIONS_OF_C: &[&str] = &[
    "abs", "acos", "acosf", "acosh", "acoshf", "asin", "asinf", "asinh", "asinhf", "atan", "atan2",
    "atan2f", "atanf", "atanh", "atanhf", "cbrt", "cbrtf", "ceil", "ceilf", "clock64", "copysign",
    "copysignf", "cos", "cosf", "cosh", "coshf", "cospi", "cospif", "cyl_bessel_i0", "cyl_bessel_i0f",
    "cyl_bessel_i1", "cyl_bessel_i1f", "erf", "erfc", "erfcf", "erfcinv", "erfcinvf", "erfcx", "erfcxf",
    "erff", "erfinv", "erfinvf", "exp", "exp10", "exp10f", "exp2", "exp2f", "expf", "expm1", "expm1f",
    "fabs", "fabsf", "fdim", "fdimf", "fdivide", "fdividef", "floor", "floorf", "fma", "fmaf", "fmax",
    "fmaxf", "fmin", "fminf", "fmod", "fmodf", "free", "frexp", "frexpf", "gamma", "gammaf", "hypot",
    "hypotf", "ilogb", "ilogbf", "index", "j0", "j0f", "j1", "j1f", "jn", "jnf", "labs", "ldexp", "ldexpf",
    "lgamma", "lgammaf", "llabs", "llmax", "llmin", "llrint", "llrintf", "llround", "llroundf", "log",
    "log10", "log10f", "log1p", "log1pf", "log2", "log2f", "logb", "logbf", "logf", "lrint", "lrintf",
    "lround", "lroundf", "malloc", "max", "memcmp", "memcpy", "memmove", "memset", "min", "modf", "modff",
    "nan", "nanf", "nearbyint", "nearbyintf", "nextafter", "nextafterf", "norm", "norm3d", "norm3df",
    "norm4d", "norm4df", "normcdf", "normcdff", "normcdfinv", "normcdfinvf", "normf", "pow", "powf",
    "printf", "rcbrt", "rcbrtf", "remainder", "remainderf", "remquo", "remquof", "rhypot", "rhypotf",
    "rindex", "rint", "rintf", "rnorm", "rnorm3d", "rnorm3df", "rnorm4d", "rnorm4df", "rnormf", "round",
    "roundf", "rsqrt", "rsqrtf", "scalbln", "scalblnf", "scalbn", "scalbnf", "sin", "sincos", "sincosf",
    "sincospi", "sincospif", "sinf", "sinh", "sinhf", "sinpi", "sinpif", "sqrt", "sqrtf", "tan", "tanf",
    "tanh", "tanhf", "tgamma", "tgammaf", "trunc", "truncf", "ullmax", "ullmin", "umax", "umin", "y0",
    "y0f", "y1", "y1f", "yn", "ynf",
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
    // The header's macros begin so.
    let is_macro = text.starts_with("TW_") || text.starts_with("THALWEG_");
    if is_macro || RESERVED.contains(&text.as_str()) { format!("{text}_") } else { text }
}

/// A kernel's name in C++, under which the driver finds it.
pub(super) fn symbol(name: &str) -> String {
    let text = in_cpp(name);
    if FUNCTIONS_OF_C.contains(&text.as_str()) { format!("{text}_") } else { text }
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

    #[test]
    fn no_name_is_that_of_a_macro_of_the_header() {
        assert_eq!(
            ["TW_FN", "THALWEG_MEMORY", "va_start"].map(in_cpp),
            ["TW_FN_", "THALWEG_MEMORY_", "va_start_"]
        );
    }

    #[test]
    fn no_kernel_is_a_function_of_c() {
        assert_eq!(["exp", "min", "axpy"].map(symbol), ["exp_", "min_", "axpy"]);
        assert!(FUNCTIONS_OF_C.iter().all(|name| in_cpp(name) == *name), "a keyword is no function");
    }
}
