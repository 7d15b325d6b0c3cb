//! The reader of kernel prototypes, on the spellings that people use.

use proptest::prelude::*;
use thalweg_compiler::cuda_source::prototype::{CType, Linkage, Primitive, Prototype, Scalar};
use thalweg_compiler::cuda_source::prototypes;

/// The one kernel of a source.
fn only(source: &str) -> Prototype {
    let mut found = prototypes(source);
    assert_eq!(found.len(), 1, "in {source}: {found:#?}");
    found.remove(0)
}

/// Each parameter as `name: type`, in the source's words without qualifiers.
fn shown(prototype: &Prototype) -> String {
    let parameters = prototype.parameters.iter().map(|parameter| match &parameter.name {
        Some(name) => format!("{name}: {}", parameter.ty),
        None => parameter.ty.to_string(),
    });
    parameters.collect::<Vec<_>>().join(", ")
}

fn one_parameter(text: &str) -> CType {
    let source = format!("extern \"C\" __global__ void k({text});");
    let mut parameters = only(&source).parameters;
    assert_eq!(parameters.len(), 1, "{text}");
    parameters.remove(0).ty
}

#[test]
fn reads_the_usual_prototype() {
    let saxpy = only(
        "extern \"C\" __global__ void __launch_bounds__(256)\n\
         saxpy(unsigned int n, float a, const float* __restrict__ x,\n\
               float* __restrict__ y) { if (n) { y[0] = x[0]; } }",
    );
    assert_eq!(saxpy.name, "saxpy");
    assert_eq!(saxpy.line, 2);
    assert_eq!(saxpy.linkage, Linkage::C);
    assert_eq!(saxpy.max_threads_per_block, Some(256));
    assert_eq!(shown(&saxpy), "n: unsigned int, a: float, x: const float*, y: float*");
    let lines: Vec<_> = saxpy.parameters.iter().map(|parameter| parameter.line).collect();
    assert_eq!(lines, [2, 2, 2, 3]);
}

#[test]
fn finds_launch_bounds_wherever_they_stand() {
    for (source, threads) in [
        ("extern \"C\" __global__ void __launch_bounds__(256) k();", Some(256)),
        ("extern \"C\" __global__ __launch_bounds__(128, 2) void k();", Some(128)),
        ("extern \"C\" __launch_bounds__(64) __global__ void k();", Some(64)),
        ("__launch_bounds__(64) extern \"C\" __global__ void k();", Some(64)),
        ("extern \"C\" __global__ void __launch_bounds__( 0x100u ) k();", Some(256)),
        ("extern \"C\" __global__ void __launch_bounds__(1'024) k();", Some(1024)),
        ("extern \"C\" __global__ void __launch_bounds__(BLOCK) k();", None),
        ("extern \"C\" __global__ void __launch_bounds__(8 * 32) k();", Some(256)),
        ("extern \"C\" __global__ void __launch_bounds__(0) k();", None),
        ("extern \"C\" __global__ void __launch_bounds__(99999999999) k();", None),
        ("extern \"C\" __global__ void __cluster_dims__(2, 1, 1) k();", None),
        ("extern \"C\" __global__ void k();", None),
    ] {
        let kernel = only(source);
        assert_eq!((kernel.name.as_str(), kernel.linkage), ("k", Linkage::C), "{source}");
        assert_eq!(kernel.max_threads_per_block, threads, "{source}");
    }
}

#[test]
fn tells_linkage() {
    let source = r#"
        __global__ void mangled(int n) {}
        template <typename T> __global__ void many(T* x) {}
        extern "C" {
            static __device__ int helper(int n) { return n; }
            __global__ void inside(int n) { for (;;) { } }
            namespace inner { __global__ void deeper() {} }
            extern "C++" { __global__ void cxx_again() {} }
            extern "C++" __global__ void cxx_alone() {}
            __global__ void inside_too();
        }
        __global__ void after() {}
        namespace ns { extern "C" __global__ void in_namespace() {} __global__ void in_ns() {} }
        __global__ extern "C" void swapped() {}
        extern "C" int other();
        static __global__ void hidden() {}
    "#;
    let found: Vec<_> = prototypes(source).into_iter().map(|kernel| (kernel.name, kernel.linkage)).collect();
    let expected = [
        ("mangled", Linkage::Cxx),
        ("many", Linkage::Template),
        ("inside", Linkage::C),
        ("deeper", Linkage::C),
        ("cxx_again", Linkage::Cxx),
        ("cxx_alone", Linkage::Cxx),
        ("inside_too", Linkage::C),
        ("after", Linkage::Cxx),
        ("in_namespace", Linkage::C),
        ("in_ns", Linkage::Cxx),
        ("swapped", Linkage::C),
        ("hidden", Linkage::Cxx),
    ];
    assert_eq!(found, expected.map(|(name, linkage)| (name.to_owned(), linkage)));
}

#[test]
fn is_not_misled_by_comments_strings_and_directives() {
    let source = r##"
        // extern "C" __global__ void in_line_comment(int n); \
           extern "C" __global__ void in_its_continuation(int n);
        /* extern "C" __global__ void in_block_comment(int n);
         */
        #include "other.cuh"
        #define MAKE(name) extern "C" \
            __global__ void name(int n)
        const char* text = "extern \"C\" __global__ void in_string(int n); // \\";
        const char* raw = R"cuda(extern "C" __global__ void in_raw_string(int n);)cuda";
        const char quote = '"', escaped = '\'', slash = '\\';
        extern "C" /* really */ __global__ // here
            void found(int /* count */ n, // of items
                       float a) {}
    "##;
    let kernel = only(source);
    assert_eq!((kernel.name.as_str(), kernel.line), ("found", 13));
    assert_eq!(shown(&kernel), "n: int, a: float");
}

#[test]
fn replaces_macros_that_make_kernels() {
    let source = "#define KERNEL extern \"C\" \\\n  __global__ void\n\
                  KERNEL BOUNDS(256) scale(float a, float* x) {}\nKERNEL fill(float* x) {}";
    let found = prototypes(source);
    let names: Vec<_> = found
        .iter()
        .map(|kernel| (kernel.name.as_str(), kernel.linkage, kernel.line, shown(kernel)))
        .collect();
    assert_eq!(
        names,
        [
            ("scale", Linkage::C, 3, "a: float, x: float*".to_owned()),
            ("fill", Linkage::C, 4, "x: float*".to_owned()),
        ]
    );
}

#[test]
fn finds_declarations_and_definitions() {
    let source = "extern \"C\" __global__ void k(int n);\nextern \"C\" __global__ void k(int n) {}";
    let lines: Vec<_> = prototypes(source).into_iter().map(|kernel| kernel.line).collect();
    assert_eq!(lines, [1, 2]);
}

#[test]
fn knows_the_number_types() {
    use Primitive::*;
    for (text, expected) in [
        ("float a", F32),
        ("double", F64),
        ("bool b", Bool),
        ("__half h", F16),
        ("__nv_bfloat16 h", Bf16),
        ("int n", I32),
        ("signed n", I32),
        ("signed int n", I32),
        ("int32_t n", I32),
        ("std::int32_t n", I32),
        ("unsigned n", U32),
        ("unsigned", U32),
        ("unsigned int n", U32),
        ("const unsigned int n", U32),
        ("unsigned const n", U32),
        ("int unsigned n", U32),
        ("uint32_t n", U32),
        ("uint n", U32),
        ("signed char c", I8),
        ("int8_t c", I8),
        ("unsigned char c", U8),
        ("uint8_t c", U8),
        ("short", I16),
        ("short int s", I16),
        ("unsigned short s", U16),
        ("uint16_t s", U16),
        ("long long n", I64),
        ("long long int n", I64),
        ("signed long long n", I64),
        ("int64_t n", I64),
        ("ptrdiff_t n", I64),
        ("unsigned long long n", U64),
        ("unsigned long long int n", U64),
        ("long long unsigned n", U64),
        ("uint64_t n", U64),
        ("size_t n", U64),
        ("std::size_t n", U64),
        ("::size_t n", U64),
        ("int n = 4", I32),
        ("[[maybe_unused]] int n", I32),
        ("__attribute__((unused)) int n", I32),
        ("volatile int n", I32),
    ] {
        let CType::Value(base) = one_parameter(text) else { panic!("{text} is by value") };
        assert_eq!(base.scalar, Scalar::Is(expected), "{text}");
    }
    #[cfg(not(windows))]
    for (text, expected) in [("long n", I64), ("unsigned long n", U64), ("long int n", I64)] {
        let CType::Value(base) = one_parameter(text) else { panic!("{text} is by value") };
        assert_eq!(base.scalar, Scalar::Is(expected), "{text}");
    }
    let CType::Value(base) = one_parameter("char c") else { panic!("`char` is by value") };
    assert_eq!(base.scalar, Scalar::Char);
}

#[test]
fn calls_other_names_unknown() {
    for (text, name) in [
        ("Params p", "Params"),
        ("const Params p", "Params"),
        ("struct Params p", "Params"),
        ("const __grid_constant__ Params p", "Params"),
        ("math::Params p", "math::Params"),
        ("Vec<float, 3> v", "Vec<float, 3>"),
        ("Outer<Inner<int>>::Type v", "Outer<Inner<int>>::Type"),
        ("Real", "Real"),
        ("long double x", "long double"),
        ("float1 x", "float1"),
    ] {
        let CType::Value(base) = one_parameter(text) else { panic!("{text} is by value") };
        assert_eq!((base.scalar, base.text.as_str()), (Scalar::Unknown, name), "{text}");
    }
    for text in ["float4 v", "uchar4 v", "const int2 v", "longlong2 v", "dim3 d"] {
        let CType::Value(base) = one_parameter(text) else { panic!("{text} is by value") };
        assert_eq!(base.scalar, Scalar::Compound, "{text}");
    }
    for (text, ty) in [
        ("void (*f)(int, float)", CType::Function),
        ("const n::Vec<float>* (*)()", CType::Function),
        ("void f(int, float)", CType::Opaque),
        ("Args... args", CType::Opaque),
        ("", CType::Opaque),
    ] {
        let source = format!("extern \"C\" __global__ void k({text}, int n);");
        let kernel = only(&source);
        assert_eq!(kernel.parameters.len(), 2, "{text}");
        assert_eq!(kernel.parameters[0].ty, ty, "{text}");
    }
    for text in ["float& x", "const float &x", "float (&x)[4]", "float&&"] {
        assert!(matches!(one_parameter(text), CType::Reference(_)), "{text}");
    }
}

#[test]
fn reads_pointers_however_they_are_spaced() {
    for text in [
        "const float* x",
        "const float *x",
        "const float*x",
        "const float * x",
        "float const* x",
        "float const * const x",
        "const float* const __restrict__ x",
        "const float* __restrict__ x",
        "const float *__restrict x",
        "const float * restrict x",
        "const float* volatile x",
        "const float x[]",
        "const float x[256]",
        "const float*",
        "__restrict__ const float* x",
    ] {
        assert_eq!(one_parameter(text).to_string(), "const float*", "{text}");
    }
    for text in ["float* x", "float *__restrict__ x", "float* const x", "float x[]", "float*"] {
        assert_eq!(one_parameter(text).to_string(), "float*", "{text}");
    }
    for (text, shown) in [
        ("unsigned char* __restrict__ x", "unsigned char*"),
        ("const unsigned long long* x", "const unsigned long long*"),
        ("void* x", "void*"),
        ("const Params* x", "const Params*"),
        ("const float4* x", "const float4*"),
        ("float** x", "float**"),
        ("float* const* x", "const float**"),
        ("float* x[4]", "float**"),
    ] {
        assert_eq!(one_parameter(text).to_string(), shown, "{text}");
    }
}

#[test]
fn counts_parameters() {
    for (text, count) in
        [("", 0), (" void ", 0), ("int", 1), ("Pair<int, int> p, int n", 2), ("int a = f(1, 2), int b", 2)]
    {
        let kernel = only(&format!("extern \"C\" __global__ void k({text}) {{}}"));
        assert_eq!(kernel.parameters.len(), count, "{text}");
    }
}

#[test]
fn survives_what_is_cut_short() {
    let source =
        "extern \"C\" { __global__ void __launch_bounds__(256) k(const float* x, int n = 1) { R\"(a)\"; } }";
    for end in 0..source.len() {
        prototypes(&source[..end]);
        prototypes(&source[end..]);
    }
}

proptest! {
    #[test]
    fn reads_any_text(source in any::<String>()) {
        prototypes(&source);
    }

    #[test]
    fn reads_any_tokens(words in prop::collection::vec(prop::sample::select(vec![
        "extern", "\"C\"", "__global__", "void", "template", "__launch_bounds__", "(", ")", "{", "}", "<", ">",
        "[", "]", ",", ";", "*", "&", "::", "=", "const", "unsigned", "long", "float", "k", "Params", "256",
        "\"", "'", "\\", "\n", "\n#define K __global__", "/*", "*/", "//", "R\"", "struct", "é", "0x",
    ]), 0..40)) {
        prototypes(&words.join(" "));
        prototypes(&words.concat());
    }
}
