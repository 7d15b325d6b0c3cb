//! `#[kernels]`: sources that are valid CUDA C++ and odd, or that could make the reader slow.

use crate::declared;

use std::time::{Duration, Instant};

use declared::{assert_declared, declare, dense, errors_and_rest, expand_with};

/// The size of `P` that rustc is to check, in bytes.
#[track_caller]
fn size(definitions: &str) -> Option<u64> {
    let source = format!("{definitions}\nextern \"C\" __global__ void k(P p);");
    let expanded = declare("safe fn k(p: P);", &source);
    let (errors, _) = errors_and_rest(expanded.clone());
    assert_eq!(errors, [""; 0], "{definitions}");
    let text = dense(expanded);
    text.split_once("same_layout::<P>(&[(")?.1.split(',').next()?.parse().ok()
}

/// An earlier reader laid each of these out by what plain text seems to say.
#[test]
fn structs_that_plain_text_does_not_tell() {
    for definitions in [
        "#define PACKED __attribute__((packed))\nstruct PACKED P { char c; int x; };",
        "#define PACKED __attribute__((packed))\nstruct P { char c; int x; } PACKED;",
        "constexpr int N = 8;\nstruct P { static constexpr int N = 4; float x[N]; };",
        "#define FIELD(t, n) t n\nstruct P { FIELD(float, x); float y; };",
        "#define FIELD(t, n) t n;\nstruct P { float z; FIELD(float, x) float y; };",
        "struct alignas(32) alignas(8) P { float y; };",
    ] {
        assert_eq!(size(definitions), None, "{definitions}");
    }
}

#[test]
fn members_that_are_no_fields() {
    for definitions in [
        "struct P { float x; bool operator==(const P& o) const = default; };",
        "struct P { float x; P() : x(0) {} __device__ bool operator<(P o) const { return x < o.x; } };",
        "struct P { static_assert(sizeof(float) == 4, \"\"); static constexpr int N = 4; float x; };",
        "class P { public: float x; explicit P(float x); ~P(); };",
    ] {
        assert_eq!(size(definitions), Some(4), "{definitions}");
    }
}

#[test]
fn a_pointer_is_found_wherever_it_is_in_a_struct() {
    for (definition, pointer) in [
        ("typedef float* Data;\nstruct P { Data p; };", "Data p"),
        ("\nstruct P { Unknown u; float* p; };", "float* p"),
        ("typedef float Matrix[4];\nstruct P { Matrix m; float* p; };", "float* p"),
        ("typedef float** Table;\nstruct P { Table t; };", "float*"),
        ("typedef float* Data; typedef Data* Table;\nstruct P { Table t; };", "Data"),
        ("typedef float* Data; typedef Data Both[2];\nstruct P { Both b; };", "Data"),
    ] {
        let source = format!("{definition}\nextern \"C\" __global__ void k(P p);");
        let expected = format!(
            "[TW0410]: parameter 1 of kernel `k` holds a pointer in k.cu: `{pointer}`\nnote: k.cu:2\n\
             note: nothing would check what is done through it\n\
             help: take it out of the struct, and declare a parameter `&[T]` or `&mut [T]`"
        );
        assert_declared("safe fn k(p: P);", &source, &[&expected]);
    }
}

/// An array that is not itself a parameter is not a pointer.
#[test]
fn typedefs_of_arrays() {
    let definitions = "typedef float Row[4]; typedef Row Table[2]; struct Rows { Row a; Table b; };";
    for (there, here, check) in [
        ("const Row* x", "&[[f32; 4]]", "same_layout::<[f32;4]>(&[(16,"),
        ("const Row* x", "&[f32]", ""),
        ("Table x", "&mut [[f32; 4]]", "same_layout::<[f32;4]>(&[(16,"),
        ("const Rows* x", "&[Rows]", "same_layout::<Rows>(&[(48,"),
    ] {
        let source = format!("{definitions}\nextern \"C\" __global__ void k({there});");
        let expanded = declare(&format!("safe fn k(x: {here});"), &source);
        let (errors, _) = errors_and_rest(expanded.clone());
        assert_eq!(errors, [""; 0], "{there}");
        assert!(dense(expanded).contains(check), "{there}: {check}");
    }
}

#[test]
fn a_name_may_make_its_type_const() {
    for definition in [
        "typedef const float Input;",
        "using Input = const float;",
        "#define Input const float",
        "typedef const float First; typedef First Input;",
    ] {
        let source = format!("{definition}\nextern \"C\" __global__ void k(Input* x);");
        assert_declared("safe fn k(x: &[f32]);", &source, &[]);
        let mismatch = "[TW0406]: kernel `k` does not match k.cu: parameter 1 is `&mut [f32]`, but the source has \
                        `Input*`\nnote: k.cu:2\nhelp: declare it `&[f32]`";
        assert_declared("safe fn k(x: &mut [f32]);", &source, &[mismatch]);
    }
}

#[test]
fn macros_that_are_qualifiers_hide_no_type() {
    let source = "#define RESTRICT __restrict__\n#define IN\n#define CONST const\n\
                  extern \"C\" __global__ void k(IN int n, CONST float* RESTRICT x);";
    assert_declared("safe fn k(n: i32, x: &[f32]);", source, &[]);
    let mismatch = |at: usize, here: &str, there: &str, help: &str| {
        format!(
            "[TW0405]: kernel `k` does not match k.cu: parameter {at} is `{here}`, but the source has `{there}`\n\
             note: k.cu:4\nhelp: declare it `{help}`"
        )
    };
    let expected = [mismatch(1, "f32", "int", "i32"), mismatch(2, "&[f64]", "const float*", "&[f32]")];
    assert_declared("safe fn k(n: f32, x: &[f64]);", source, &[&expected[0], &expected[1]]);
    let source = "\n\n\nextern \"C\" __global__ void k(cuda::std::uint32_t n);";
    let expected = mismatch(1, "f32", "cuda::std::uint32_t", "u32");
    assert_declared("safe fn k(n: f32);", source, &[&expected]);
}

/// NVRTC mangles these names, `extern "C"` or not.
#[test]
fn a_kernel_that_no_one_else_sees_has_no_c_linkage() {
    for source in [
        "namespace { extern \"C\" __global__ void k(unsigned n); }",
        "namespace a { namespace { extern \"C\" __global__ void k(unsigned n); } }",
        "extern \"C\" { static __global__ void k(unsigned n); }",
        "extern \"C\" { __global__ static void k(unsigned n); }",
    ] {
        let (errors, _) = errors_and_rest(declare("safe fn k(n: u32);", source));
        let [error] = &errors[..] else { panic!("{source}: {errors:?}") };
        assert!(error.starts_with("[TW0403]: kernel `k` in k.cu has no C linkage"), "{error}");
    }
    assert_declared("safe fn k(n: u32);", "namespace a { extern \"C\" __global__ void k(unsigned n); }", &[]);
}

#[test]
fn branches_that_open_or_close_the_same_brace() {
    let opening = "#if A\nextern \"C\" __global__ void k(float n) {\n#elif B\nextern \"C\" __global__ void k(double n) {\n\
                   #else\nextern \"C\" __global__ void k(unsigned n) {\n#endif\n}\n";
    let closing =
        "extern \"C\" __global__ void k(unsigned n) { if (n) {\n#if A\n} }\n#else\n n = 1; } }\n#endif\n";
    let both = "#if A\nnamespace a { namespace b {\n#else\nnamespace c { namespace d {\n#endif\n\
                extern \"C\" __global__ void k(unsigned n) {}\n#if A\n} }\n#else\n} }\n#endif\n";
    let guarded = "#ifdef __cplusplus\nextern \"C\" {\n#endif\n__global__ void k(unsigned n) {}\n#ifdef __cplusplus\n}\n#endif\n";
    for source in [opening, closing, both, guarded] {
        let source = format!(
            "{source}\nextern \"C\" __global__ void l(float x) {{}}\ntemplate <class T> __global__ void m(T x) {{}}"
        );
        let declarations =
            "safe fn k(n: u32); safe fn l(x: f32); #[instantiate(\"m<float>\")] safe fn m(x: f32);";
        assert_declared(declarations, &source, &[]);
    }
}

#[test]
fn texts_that_are_odd() {
    for source in [
        "\u{feff}#define BOUND 64\nextern \"C\" __global__ void __launch_bounds__(BOUND) k(unsigned n) {}",
        "#define N 4 /* tile {\n don't { */\nextern \"C\" __global__ void k(unsigned n) {}",
        "#include \"/*\"\n#error don't /* { */\nextern \"C\" __global__ void k(unsigned n) {}",
        "__device__ const char* s = u8R\"x(\" {{ )\" \n)x\";\nextern \"C\" __global__ void k(unsigned n) {}",
        "template <class T> __global__ void t(T x) requires true { }\nextern \"C\" __global__ void k(unsigned n) {}",
    ] {
        assert_declared("safe fn k(n: u32);", source, &[]);
    }
    let source = "template <class T> __global__ void t(T x) requires (sizeof(T) == 4) { }";
    assert_declared("#[instantiate(\"t<float>\")] safe fn k(x: f32);", source, &[]);
    // NVRTC takes a string, which ends at a NUL.
    let nul = "[TW0414]: `k.cu` is not CUDA C++\nnote: it is not text\nhelp: make it again";
    assert_declared("safe fn k(n: u32);", "extern \"C\" __global__ void k(unsigned n) {}\0", &[nul]);
}

#[test]
fn an_empty_file_is_called_so() {
    for (kind, words) in [("ptx", "PTX"), ("cubin", "a cubin"), ("fatbin", "a fatbin")] {
        let expanded =
            expand_with(&format!("\"k.{kind}\""), "unsafe extern \"CUDA\" { safe fn k(n: u32); }", "");
        let expected = format!("[TW0414]: `k.{kind}` is not {words}\nnote: it is empty\nhelp: make it again");
        declared::assert_errors(expanded, &[&expected]);
    }
}

/// The work had doubled with every parameter.
#[test]
fn defaults_of_templates_do_not_grow_without_bound() {
    let defaults: Vec<_> = (1..40).map(|n| format!("int A{n} = A{} + A{}", n - 1, n - 1)).collect();
    let source = format!("template <int A0, {}> __global__ void k(unsigned n) {{}}", defaults.join(", "));
    let start = Instant::now();
    assert_declared("#[instantiate(\"k<1>\")] safe fn k(n: u32);", &source, &[]);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// Each of these had taken time with the square of its length.
#[test]
fn long_sources_are_read_in_one_go() {
    let many = |text: &str| text.repeat(500_000 / text.len());
    for source in [
        format!("struct a {}", many("{}")),
        format!("struct a {}", many("{ int x; } y ")),
        many("__global__ "),
        format!("#define K __global__ void\n{}", many("K ")),
        format!("extern \"C\" __global__ void k() {{ {} }}", many("__shared__ ")),
    ] {
        let start = Instant::now();
        let _ = declare("safe fn k(n: u32);", &source);
        assert!(start.elapsed() < Duration::from_secs(5), "{:.60}: {:?}", source, start.elapsed());
    }
}

#[test]
fn what_follows_the_braces_of_a_declaration_belongs_to_it() {
    let source = "struct P { float x; } f(int n) { return {}; }\nstruct Q { int g(int); } q{1}, r = {2};\n\
                  int a[] = {1}, b = h({2});\nextern \"C\" __global__ void k(unsigned n) {}";
    assert_declared("safe fn k(n: u32);", source, &[]);
}

/// An earlier reader refused each of these, or laid it out wrongly.
#[test]
fn names_that_may_be_pointers() {
    let aliases = "typedef struct { float x; int y; } P, *PP, *const CP;\ntypedef struct Q_ { float x; } *PQ, Q;\n\
                   typedef struct { int a; } *Only;\ntemplate <class T> using Ptr = T*;\n\
                   template <class T> struct Id { using type = T; };\ntemplate <class T> using Same = T;\n";
    for (there, here) in [
        ("P x", "P"),
        ("PP x", "&mut [P]"),
        ("CP x", "&mut [P]"),
        ("const P* x", "&[P]"),
        ("PQ x", "Out<[Q]>"),
        ("Q x", "Q"),
        ("Only x", "&mut [A]"),
        ("Ptr<float> x", "&mut [f32]"),
        ("Ptr<const float> x", "&[f32]"),
        ("Ptr<Q> x", "&mut [Q]"),
        ("typename Id<const float*>::type x", "&[f32]"),
        ("Same<float> x", "f32"),
    ] {
        let source = format!("{aliases}extern \"C\" __global__ void k({there}) {{}}");
        assert_declared(&format!("safe fn k(x: {here});"), &source, &[]);
    }
    for (there, here, help) in [
        ("PP x", "P", "&mut [P]"),
        ("PQ x", "&[Q]", ""),
        ("Ptr<float> x", "&mut [f64]", "&mut [f32]"),
        ("Same<float> x", "f64", "f32"),
        ("P x", "&[P]", "P"),
    ] {
        let source = format!("{aliases}extern \"C\" __global__ void k({there}) {{}}");
        let (errors, _) = errors_and_rest(declare(&format!("safe fn k(x: {here});"), &source));
        let [error] = &errors[..] else { panic!("{there}: {errors:?}") };
        assert!(error.contains(help), "{error}");
    }
    let expanded =
        declare("safe fn k(x: PP);", &format!("{aliases}extern \"C\" __global__ void k(P* x) {{}}"));
    assert_eq!(errors_and_rest(expanded).0.len(), 1);
    let expanded = declare("safe fn k(x: P);", &format!("{aliases}extern \"C\" __global__ void k(P x) {{}}"));
    assert!(dense(expanded).contains("same_layout::<P>(&[(8,"));
}

/// A macro decides how many parameters there are.
#[test]
fn macros_that_hold_several_parameters() {
    let kernel = "extern \"C\" __global__ void";
    for source in [
        format!("#define TWO const float* x, \\\n  float* y\n{kernel} k(TWO, int n) {{}}"),
        format!("#define MORE , float* y, int n\n{kernel} k(const float* x MORE) {{}}"),
        format!(
            "#ifdef A\n#define MORE , float* y, int n\n#else\n#define MORE\n#endif\n{kernel} k(const float* x MORE) {{}}"
        ),
        format!("#define BOTH(T) const T* x, T* y\n{kernel} k(BOTH(float), int n) {{}}"),
        format!("#define BOTH(T) const T* x, T* y\n#define TWO BOTH(float)\n{kernel} k(TWO, int n) {{}}"),
    ] {
        assert_declared("safe fn k(x: &[f32], y: &mut [f32], n: i32);", &source, &[]);
    }
    let source = format!("#define TWO const float* x, float* y\n{kernel} k(TWO, int n) {{}}");
    let mismatch = "[TW0405]: kernel `k` does not match k.cu: parameter 2 is `&mut [f64]`, but the source has \
                    `float*`\nnote: k.cu:2\nhelp: declare it `&mut [f32]`";
    assert_declared("safe fn k(x: &[f32], y: &mut [f64], n: i32);", &source, &[mismatch]);
}

/// The macro's call is not a prototype; a prototype before it is one.
#[test]
fn a_kernel_that_a_macro_makes() {
    let making = "#define MAKE(T, name) \\\nextern \"C\" __global__ void name(const T* x) {}\n";
    let expected = "[TW0402]: cannot find kernel `k` in k.cu\nnote: k.cu:4: `MAKE(…)` may make it, but macros with \
                    parameters are not expanded\nhelp: declare it in the source, before that: \
                    `extern \"C\" __global__ void k(…);`";
    assert_declared(
        "safe fn k(x: &[f32]);",
        &format!("{making}\nMAKE(float, k)\nMAKE(int, l)\n"),
        &[expected],
    );
    let declared = format!("{making}extern \"C\" __global__ void k(const float* x);\nMAKE(float, k)\n");
    assert_declared("safe fn k(x: &[f32]);", &declared, &[]);
}
