//! `#[kernels]`: types of the source, through its typedefs, and how they lie in memory.

use crate::declared;

use declared::{assert_declared, assert_errors, declare, dense, errors_and_rest};

/// The size and alignment that the expansion expects of `P`, for a parameter of type `ty` in the source.
/// `None` if it expects nothing, or one of several layouts.
#[track_caller]
fn layout(definitions: &str, ty: &str) -> Option<(u64, Option<u64>)> {
    let source = format!("{definitions}\nextern \"C\" __global__ void k({ty} p);");
    let expanded = declare("safe fn k(p: P);", &source);
    assert_errors(expanded.clone(), &[]);
    let text = dense(expanded);
    let (layouts, _) = text.split_once("same_layout::<P>(&[(")?.1.split_once(")],\"")?;
    let (size, align) = layouts.split_once(',').filter(|_| !layouts.contains("),("))?;
    let align = align.strip_prefix("::core::option::Option::Some(").and_then(|rest| rest.strip_suffix(')'));
    Some((size.parse().ok()?, align.map(|align| align.parse().expect("a number"))))
}

#[test]
fn structs_lie_as_c_lays_them_out() {
    for (fields, size, align) in [
        ("float a;", 4, 4),
        ("char c; double d; short s;", 24, 8),
        ("double d; char c; short s;", 16, 8),
        ("float x, y, z; int n;", 16, 4),
        ("float m[3][4]; unsigned char c;", 52, 4),
        ("float a[N]; bool b[N + 1];", 84, 4),
        ("float4 v; unsigned n;", 32, 16),
        ("float3 v; float w;", 16, 4),
        ("Inner i; char c; Inner more[2];", 56, 8),
        ("index_t n; real_t a; struct Inner i;", 24, 8),
        ("half h; __nv_bfloat16 b; half2 v;", 8, 4),
        ("Mode mode; Small small;", 8, 4),
        ("long long n; wchar_t w;", 16, 8),
        ("public: int a; private: int b;", 8, 4),
        (
            "int a = 1; int b{2}; static const int LIMIT = 4; using T = float; P() : a(1) {} __device__ float norm() const { return a; }",
            8,
            4,
        ),
        ("unsigned long long n; const float a; volatile int b; [[maybe_unused]] char c;", 24, 8),
    ] {
        let definitions = format!(
            "#define N 16\ntypedef unsigned int index_t; using real_t = float;\n\
             struct Inner {{ double d; char c; }};\nenum Mode {{ A, B = 3 }};\nenum class Small : unsigned char {{ X }};\n\
             struct P {{ {fields} }};"
        );
        assert_eq!(layout(&definitions, "P"), Some((size, Some(align))), "{fields}");
    }
}

#[test]
fn heads_of_structs() {
    for (definition, ty, size, align) in [
        ("typedef struct { float a; char c; } P;", "P", 8, 4),
        ("typedef struct P_ { float a; } P;", "P", 4, 4),
        ("typedef struct P_ { float a; } P;", "struct P_", 4, 4),
        ("struct __align__(16) P { float a; };", "P", 16, 16),
        ("struct alignas(8) P { float a, b, c; };", "const P", 16, 8),
        ("class P final { float a; };", "P", 4, 4),
        ("union P { float a; double b; char c[9]; };", "P", 16, 8),
        ("namespace math { struct P { float a; }; }", "math::P", 4, 4),
        ("namespace a { namespace b { struct P { int n; }; } using Q = b::P; }", "::a::Q", 4, 4),
        ("inline namespace v1 { struct P { int n; }; }", "P", 4, 4),
        ("struct P { float a; }; typedef P Alias; typedef Alias Again;", "Again", 4, 4),
    ] {
        assert_eq!(layout(definition, ty), Some((size, Some(align))), "{definition}");
    }
    // Vector types and numbers have no alignment to keep.
    for (ty, size) in [
        ("float4", 16),
        ("double3", 24),
        ("uchar4", 4),
        ("dim3", 12),
        ("float", 4),
        ("unsigned long long", 8),
        ("char", 1),
    ] {
        assert_eq!(layout("", ty), Some((size, None)), "{ty}");
    }
}

#[test]
fn what_is_not_known_is_not_checked() {
    for definition in [
        "struct P;",
        "struct P { unsigned a : 3; };",
        "constexpr int N = 3;\nstruct P { unsigned a : ::N; };",
        "struct P : Base { float a; };",
        "struct P { virtual void f(); float a; };",
        "struct P { Unknown u; };",
        "struct P { float a[COUNT]; };",
        "struct P { float a; } __attribute__((packed));",
        "struct __attribute__((packed)) P { float a; };",
        "#pragma pack(1)\nstruct P { float a; };",
        "struct P { P p; };",
        "typedef P P;",
        "typedef Q P; typedef P Q;",
        "template <typename T> struct P { T a; };",
        "#if A\nstruct P { float a; };\n#else\nstruct P { double a; };\n#endif",
        "struct P { void (*f)(int); };",
        "struct P { float a[999999999999][999999999999]; };",
        "#define N 8\n#undef N\nstruct P { float a[N]; };",
        "struct P { alignas(16) float a; };",
    ] {
        assert_eq!(layout(definition, "P"), None, "{definition}");
    }
}

#[test]
fn slices_of_structs_are_checked_too() {
    let source = "struct Particle { float3 at; float mass; };\n__constant__ Particle seeds[4];\n\
                  extern \"C\" __global__ void k(const Particle* in, Particle* out);";
    let text =
        dense(declare("safe fn k(x: &[Particle], y: Out<[Other]>, #[symbol] seeds: &[Seed]);", source));
    for ty in ["Particle", "Other", "Seed"] {
        let check = format!(
            "same_layout::<{ty}>(&[(16,::core::option::Option::Some(4))],\"[TW0417]:`{ty}`\",\"`Particle`ofk.cu\",\"\\nnote:k.cu:1\")"
        );
        assert!(text.contains(&check), "{text}");
    }
    assert_eq!(text.matches("same_layout::<Particle>").count(), 1, "{text}");
}

#[test]
fn a_check_keeps_the_kernels_cfg() {
    let source =
        "struct P { int n; }; extern \"C\" __global__ void a(P p); extern \"C\" __global__ void b(P p);";
    let text = dense(declare("#[cfg(feature = \"a\")] safe fn a(p: P); safe fn b(p: P);", source));
    assert!(text.contains("#[cfg(feature=\"a\")]const_:()="), "{text}");
    assert_eq!(text.matches("same_layout::<P>(&[(4,").count(), 2, "{text}");
}

#[test]
fn typedefs_are_seen_through() {
    let definitions = "typedef unsigned int index_t; typedef index_t id_t; using real = double; typedef float* floats; \
        typedef const float* inputs; typedef float vec3[3]; enum Mode { A, B }; enum class Flag : unsigned char { X }; \
        struct One { float a; };\n#define REAL float\n#define PICK int\nnamespace n { typedef short index_t; }\n";
    for (here, there, fits) in [
        ("u32", "index_t", true),
        ("i32", "index_t", false),
        ("u64", "id_t", false),
        ("f64", "real", true),
        ("f32", "real", false),
        ("&mut [f32]", "floats", true),
        ("&[f32]", "floats", false),
        ("&[f32]", "inputs", true),
        ("&[f64]", "inputs", false),
        ("u64", "inputs", false),
        ("&mut [f32]", "vec3", true),
        ("&[u32]", "const id_t*", true),
        ("&[i32]", "const id_t*", false),
        ("&[u64]", "floats const*", false),
        ("u32", "Mode", true),
        ("i32", "enum Mode", true),
        ("u8", "Mode", false),
        ("u8", "Flag", true),
        ("u32", "Flag", false),
        ("f32", "One", true),
        ("f64", "One", false),
        ("f32", "REAL", true),
        ("f64", "REAL", false),
        ("i16", "n::index_t", true),
        ("u32", "n::index_t", false),
    ] {
        let source = format!("{definitions}extern \"C\" __global__ void k({there} p);");
        let (errors, _) = errors_and_rest(declare(&format!("safe fn k(p: {here});"), &source));
        assert_eq!(errors.is_empty(), fits, "{here} for {there}: {errors:?}");
    }
    assert_declared(
        "safe fn k(n: i32, m: u32);",
        "typedef unsigned int index_t;\nextern \"C\" __global__ void k(index_t n, One);\nstruct One { double a; };",
        &[
            "[TW0405]: kernel `k` does not match k.cu: parameter 1 is `i32`, but the source has `index_t`\n\
             note: k.cu:2\nhelp: declare it `u32`",
            "[TW0405]: kernel `k` does not match k.cu: parameter 2 is `u32`, but the source has `One`\n\
             note: k.cu:2\nnote: `One` has 8 bytes\nhelp: declare it `One`",
        ],
    );
}

#[test]
fn number_types() {
    for (here, there, fits) in [
        ("half::f16", "__half", true),
        ("half::f16", "half", true),
        ("f16", "half", true),
        ("half::bf16", "half", false),
        ("half::bf16", "__nv_bfloat16", true),
        ("bf16", "nv_bfloat16", true),
        ("half::f16", "__nv_bfloat16", false),
        ("u16", "half", false),
        ("f32", "half", false),
        ("&[half::f16]", "const __half*", true),
        ("&[half::bf16]", "const __half*", false),
        ("&mut [half::f16]", "half2*", false),
        ("&mut [[half::f16; 2]]", "half2*", true),
        ("half::f16", "half2", false),
        ("half::bf16", "__nv_bfloat162", false),
        ("i8", "char", true),
        ("u8", "char", true),
        ("bool", "char", false),
        ("i8", "signed char", true),
        ("u8", "signed char", false),
        ("bool", "bool", true),
        ("u8", "bool", false),
        ("u64", "unsigned long long", true),
        ("usize", "unsigned long long", true),
        ("i64", "unsigned long long", false),
        ("u64", "unsigned long long int", true),
        ("u16", "char16_t", true),
        ("u32", "char32_t", true),
        ("f32", "volatile float", true),
        ("&[f32]", "const volatile float*", true),
        ("&[f32]", "float const volatile* const __restrict__", true),
        ("&[f32]", "volatile float*", false),
        ("&mut [f32]", "float* const", true),
        ("&mut [f32]", "float**", false),
        ("&mut [u64]", "float**", false),
        ("&[f32]", "const float* const*", false),
        ("f32", "const float&", false),
        ("&[f32]", "const float&", false),
        ("[f32; 4]", "float4", true),
        ("f32", "float4", false),
    ] {
        let source = format!("extern \"C\" __global__ void k({there});");
        let (errors, _) = errors_and_rest(declare(&format!("safe fn k(p: {here});"), &source));
        assert_eq!(errors.is_empty(), fits, "{here} for {there}: {errors:?}");
    }
    #[cfg(not(windows))]
    for (here, there, fits) in [
        ("i64", "long", true),
        ("i32", "long", false),
        ("u64", "unsigned long", true),
        ("i32", "wchar_t", true),
    ] {
        let source = format!("extern \"C\" __global__ void k({there} p);");
        let (errors, _) = errors_and_rest(declare(&format!("safe fn k(p: {here});"), &source));
        assert_eq!(errors.is_empty(), fits, "{here} for {there}: {errors:?}");
    }
}

#[test]
fn cudas_own_headers_do_not_hide_its_types() {
    let source = "struct __half { protected: unsigned short x; public: __half() = default; }; typedef __half half;\n\
                  struct float4 { float x, y, z, w; }; extern \"C\" __global__ void k(half a, const float4* v);";
    assert_declared("safe fn k(a: half::f16, v: &[[f32; 4]]);", source, &[]);
    let (errors, _) = errors_and_rest(declare("safe fn k(a: u16, v: &[f32]);", source));
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn references_and_pointers_to_pointers() {
    assert_declared(
        "safe fn k(x: &[f32], y: &mut [f32]);",
        "extern \"C\" __global__ void k(\nconst float& x, float** y);",
        &[
            "[TW0405]: kernel `k` does not match k.cu: parameter 1 is `&[f32]`, but the source has `float&`\n\
             note: k.cu:2\n\
             note: a `__global__` function cannot take references\n\
             help: take a pointer in the source, or the value itself",
            "[TW0405]: kernel `k` does not match k.cu: parameter 2 is `&mut [f32]`, but the source has `float**`\n\
             note: k.cu:2\n\
             help: pass one slice, and the places where its parts begin",
        ],
    );
}

#[test]
fn a_struct_by_value_holds_no_pointer() {
    let expected = "[TW0410]: parameter 1 of kernel `k` holds a pointer in k.cu: `float* data`\n\
        note: k.cu:1\n\
        note: nothing would check what is done through it\n\
        help: take it out of the struct, and declare a parameter `&[T]` or `&mut [T]`";
    for source in [
        "struct View { int n; float *data; }; extern \"C\" __global__ void k(View v);",
        "struct View { int n; float *data; };\nstruct Two { View a, b; };\nextern \"C\" __global__ void k(View v);",
    ] {
        assert_declared("safe fn k(v: View);", source, &[expected]);
    }
    // A pointer in a buffer is whatever the program puts there.
    assert_declared(
        "safe fn k(v: &[View]);",
        "struct View { float* data; }; extern \"C\" __global__ void k(const View* v);",
        &[],
    );
}
