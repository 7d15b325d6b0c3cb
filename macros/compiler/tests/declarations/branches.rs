//! `#[kernels]`: types that a source defines in several ways, one for each branch of an `#if`, and types that
//! nothing defines.

use crate::declared;

use declared::{assert_declared, assert_errors, assert_fits, declare, declare_in, dense, errors_and_rest};

const REAL: &str = "#ifdef SINGLE\ntypedef float real;\n#else\ntypedef double real;\n#endif\n";

#[test]
fn one_branch_must_fit() {
    for definitions in [
        REAL,
        "#if defined(A)\nusing real = float;\n#elif B\nusing real = double;\n#endif\n",
        "#if A\n#define real float\n#else\n#define real double\n#endif\n",
        "#if A\n#define real float\n#else\ntypedef double real;\n#endif\n",
        "#if A\ntypedef float scalar;\n#else\ntypedef double scalar;\n#endif\ntypedef scalar real;\n",
    ] {
        for (here, there, fits) in [
            ("x: f32", "real x", true),
            ("x: f64", "real x", true),
            ("x: u32", "real x", false),
            ("x: u64", "real x", false),
            ("x: &[f64]", "const real* x", true),
            ("x: &[i32]", "const real* x", false),
            ("x: &[f32], a: f32", "const real* x, real a", true),
            ("x: &[f64], a: f64", "const real* x, real a", true),
            // These fit in no branch.
            ("x: &[f32], a: f64", "const real* x, real a", false),
            ("x: [f64; 2], a: f64", "real x, real a", false),
        ] {
            let source = format!("{definitions}extern \"C\" __global__ void k({there}) {{}}");
            assert_fits(here, &source, fits);
        }
    }
}

#[test]
fn names_that_the_same_condition_defines_go_together() {
    let source = "#ifdef SINGLE\ntypedef float real;\n#else\ntypedef double real;\n#endif\n\
        #ifndef SINGLE\ntypedef double2 real2;\n#else\ntypedef float2 real2;\n#endif\n\
        #if defined(SINGLE)\n#define INDEX int\n#else\n#define INDEX long long\n#endif\n\
        extern \"C\" __global__ void k(real a, const real2* x, INDEX n) {}";
    for (here, fits) in [
        ("a: f32, x: &[[f32; 2]], n: i32", true),
        ("a: f64, x: &[[f64; 2]], n: i64", true),
        ("a: f64, x: &[[f32; 2]], n: i64", false),
        ("a: f32, x: &[[f32; 2]], n: i64", false),
        ("a: f64, x: &[[f64; 2]], n: i32", false),
    ] {
        assert_fits(here, source, fits);
    }
}

#[test]
fn a_kernel_in_a_branch_sees_that_branch() {
    let source = "#if SINGLE\ntypedef float real;\nextern \"C\" __global__ void one(real a) {}\n\
        #else\ntypedef double real;\nextern \"C\" __global__ void two(real a) {}\n#endif";
    assert_declared("safe fn one(a: f32); safe fn two(a: f64);", source, &[]);
    let (errors, _) = errors_and_rest(declare("safe fn one(a: f64); safe fn two(a: f32);", source));
    assert_eq!(errors.len(), 2, "{errors:?}");
}

#[test]
fn a_file_in_a_branch_belongs_to_it() {
    let files: [(&str, &[u8]); 3] = [
        (
            "k.cu",
            b"#if HALF\n#include \"a.h\"\n#else\n#include \"b.h\"\n#endif\n\
              #if HALF\ntypedef half2 pair;\n#else\ntypedef float2 pair;\n#endif\n\
              extern \"C\" __global__ void k(real a, pair b) {}",
        ),
        ("a.h", b"#pragma once\ntypedef half real;\n"),
        ("b.h", b"#pragma once\ntypedef float real;\n"),
    ];
    for (here, fits) in [
        ("a: half::f16, b: [half::f16; 2]", true),
        ("a: f32, b: [f32; 2]", true),
        ("a: f32, b: [half::f16; 2]", false),
        ("a: half::bf16, b: [half::f16; 2]", false),
    ] {
        let (errors, _) = errors_and_rest(declare_in("\"k.cu\"", &format!("safe fn k({here});"), &files));
        assert_eq!(errors.is_empty(), fits, "{here}: {errors:?}");
    }
}

#[test]
fn what_each_branch_has_is_said() {
    let source = format!("{REAL}extern \"C\" __global__ void k(const real* x, real* y, int n) {{}}");
    assert_declared(
        "safe fn k(x: &[i32], y: &mut [i32], n: i32);",
        &source,
        &[
            "[TW0405]: kernel `k` does not match k.cu: parameter 1 is `&[i32]`, but the source has `const real*`\n\
             note: k.cu:6\n\
             note: the branches of its `#if`s make it `&[f32]` or `&[f64]`\n\
             help: declare it `&[f32]` or `&[f64]`",
            "[TW0405]: kernel `k` does not match k.cu: parameter 2 is `&mut [i32]`, but the source has `real*`\n\
             note: k.cu:6\n\
             note: the branches of its `#if`s make it `&mut [f32]` or `&mut [f64]`\n\
             help: declare it `&mut [f32]` or `&mut [f64]`",
        ],
    );
    assert_declared(
        "safe fn k(x: &[f64], y: &mut [f32], n: i32);",
        &source,
        &[
            "[TW0405]: kernel `k` does not match k.cu: parameter 1 is `&[f64]`, but the source has `const real*`\n\
           note: k.cu:6\n\
           note: the branches of its `#if`s make it `&[f32]` or `&[f64]`, and one must fit all parameters\n\
           help: declare it `&[f32]`",
        ],
    );
}

#[test]
fn structs_of_each_branch_are_laid_out() {
    let kernel = "extern \"C\" __global__ void k(P p);";
    let text = |definitions: &str| dense(declare("safe fn k(p: P);", &format!("{definitions}{kernel}")));
    let both = text("#if A\nstruct P { float a; };\n#else\nstruct P { double a; };\n#endif\n");
    let expected = "same_layout::<P>(&[(4,::core::option::Option::Some(4)),(8,::core::option::Option::Some(8))],\
         \"[TW0417]:`P`\",\"`P`ofk.cu\",\"\\nnote:k.cu:2\")";
    assert!(both.contains(expected), "{both}");
    // The layout is the same in each branch.
    let same = text("#if A\nstruct P { float a; int b; };\n#else\nstruct P { int a; float b; };\n#endif\n");
    assert!(same.contains("same_layout::<P>(&[(8,::core::option::Option::Some(4))],"), "{same}");
    // One of the layouts is not known.
    let unknown = text("#if A\nstruct P { float a; };\n#else\nstruct P : Base { double a; };\n#endif\n");
    assert!(!unknown.contains("same_layout"), "{unknown}");
    let fields = text(&format!("{REAL}struct P {{ real a, b; }};\n"));
    assert!(fields.contains("same_layout::<P>(&[(8,"), "{fields}");
}

#[test]
fn symbols_follow_the_branches() {
    let source = format!("{REAL}__constant__ real w[4];\nextern \"C\" __global__ void k(real a) {{}}");
    assert_declared("safe fn k(a: f32, #[symbol] w: &[f32]);", &source, &[]);
    assert_declared("safe fn k(a: f64, #[symbol] w: &[f64]);", &source, &[]);
    let (errors, _) = errors_and_rest(declare("safe fn k(a: f64, #[symbol] w: &[i32]);", &source));
    assert_eq!(errors.len(), 1, "{errors:?}");
}

#[test]
fn a_type_that_nobody_defines_is_an_error() {
    let kernel = "extern \"C\" __global__ void k(const real* x) {}";
    let expected = "[TW0405]: kernel `k` does not match k.cu: parameter 1 is `&[f32]`, but the source has `const real*`\n\
         note: k.cu:1\n\
         note: neither k.cu nor a file that it includes defines `real`\n\
         help: include the file that does, or name the file that includes this one in `#[kernels(…)]`";
    assert_declared("safe fn k(x: &[f32]);", kernel, &[expected]);
    assert_declared("safe fn k(x: &[Real]);", kernel, &[&expected.replace("&[f32]", "&[Real]")]);
    // A name that a header outside of the crate, an option or a macro may define is not reported.
    for before in [
        "#include <elsewhere.h>\n",
        "#include CONFIGURED\n",
        "struct real;\n",
        "namespace n { struct real { float a; }; }\nusing namespace n;\n",
        "template <typename T> struct real { T a; };\n",
        "#define PAIR(T) struct T { float a, b; };\nPAIR(real)\n",
        "#define NAME(a, b) typedef float a##b;\nNAME(re, al)\n",
        "DECLARE_TYPE(real, float)\n",
        "typedef float (real);\n",
    ] {
        assert_declared("safe fn k(x: &[f32]);", &format!("{before}{kernel}"), &[]);
    }
    for attr in ["\"k.cu\", options(\"-include=real.h\")", "\"k.cu\", options(\"-Dreal=float\")"] {
        let files: [(&str, &[u8]); 1] = [("k.cu", kernel.as_bytes())];
        assert_errors(declare_in(attr, "safe fn k(x: &[f32]);", &files), &[]);
    }
    for ty in ["cudaKernelNodeParams", "CUlaunchConfig", "__nv_unheard_of", "nvtxRangeId_t"] {
        let source = format!("extern \"C\" __global__ void k({ty} p) {{}}");
        assert_declared("safe fn k(p: P);", &source, &[]);
    }
    assert_declared(
        "#[instantiate(\"k<P>\")] safe fn k(p: P);",
        "struct P { float a; };\ntemplate <typename T> __global__ void k(T p) {}",
        &[],
    );
}

#[test]
fn the_includer_defines_them() {
    let files: [(&str, &[u8]); 2] = [
        ("main.cu", b"typedef float real;\n#include \"part.cuh\"\n"),
        ("part.cuh", b"extern \"C\" __global__ void k(const real* x) {}\n"),
    ];
    assert_errors(declare_in("\"main.cu\"", "safe fn k(x: &[f32]);", &files), &[]);
    let (errors, _) = errors_and_rest(declare_in("\"main.cu\"", "safe fn k(x: &[f64]);", &files));
    assert_eq!(errors.len(), 1, "{errors:?}");
    let (errors, _) = errors_and_rest(declare_in("\"part.cuh\"", "safe fn k(x: &[f32]);", &files));
    assert!(errors[0].contains("neither part.cuh nor a file that it includes defines `real`"), "{errors:?}");
}
