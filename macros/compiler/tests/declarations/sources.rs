//! `#[kernels]`: the files of a source, and the options that change what is in them.

use crate::declared;

use declared::{assert_declared, assert_errors, assert_expansion, declare_in, dense, tokens};
use thalweg_compiler::kernels::{LitStr, expand};

/// The files of two folders; `math.cuh` is included in two ways.
const TREE: &[(&str, &[u8])] = &[
    (
        "../cu/blur.cu",
        b"#pragma once\n#include \"params.cuh\"\n#include <vendor/math.cuh>\n#include <cuda_fp16.h>\n\
          KERNEL blur(Params p, const Real* x, float* y) {}\n",
    ),
    ("../cu/params.cuh", b"#ifndef P\n#define P\n#include \"detail/index.cuh\"\nstruct Params {\n  index_t n;\n  float a;\n};\n#endif\n"),
    ("../cu/detail/index.cuh", b"#include \"../params.cuh\"\ntypedef unsigned int index_t;\n"),
    ("include/vendor/math.cuh", b"#define KERNEL extern \"C\" __global__ void\n#include \"more.cuh\"\ntypedef float Real;\n"),
    ("include/vendor/more.cuh", b"\n\nKERNEL twice(index_t n, double* y) {}\n__constant__ float weights[25];\n"),
    ("include/vendor/unused.cuh", b"\xff"),
];

#[test]
fn included_files_are_embedded() {
    let declarations = "safe fn blur(p: Params, x: &[f32], y: &mut [f32]); safe fn twice(n: u32, y: &mut [f64], #[symbol] weights: &[f32]);";
    let expanded = declare_in(
        "\"../cu/blur.cu\", include(\"include\"), options(\"--use_fast_math\", \"-DTILE=16\")",
        declarations,
        TREE,
    );
    assert_errors(expanded.clone(), &[]);
    assert_expansion("kernels_included.rs", expanded);
}

#[test]
fn a_source_alone_has_no_tree() {
    let files: &[(&str, &[u8])] = &[(
        "k.cu",
        b"#include <cuda_fp16.h>\n#include \"k.cu\"\n#include NAME\nextern \"C\" __global__ void k(int n) {}",
    )];
    let text = dense(declare_in("\"k.cu\"", "safe fn k(n: i32);", files));
    assert!(text.contains("cuda(\"k.cu\",::core::include_str!(\"k.cu\"));"), "{text}");
}

#[test]
fn the_tree_holds_the_folders_that_lead_to_a_file() {
    // Everything is in `cu`, but the way to a file goes through the folder that `cu` is in.
    let files: &[(&str, &[u8])] = &[
        (
            "cu/k.cu",
            b"#include \"a/b.cuh\"\n#include \"../cu/n.cuh\"\nextern \"C\" __global__ void k(N n) {}",
        ),
        ("cu/a/b.cuh", b""),
        ("cu/n.cuh", b"typedef int N;\n"),
    ];
    let text = dense(declare_in("\"cu/k.cu\"", "safe fn k(n: i32);", files));
    assert!(text.contains(".including(\"cu/k.cu\",&[") && text.contains("\"cu/n.cuh\""), "{text}");
    let files: &[(&str, &[u8])] =
        &[("cu/k.cu", b"#include \"a/b.cuh\"\nextern \"C\" __global__ void k(int n) {}"), files[1]];
    let text = dense(declare_in("\"cu/k.cu\"", "safe fn k(n: i32);", files));
    assert!(text.contains(".including(\"k.cu\",&["), "{text}");
}

#[test]
fn errors_name_the_included_file() {
    let declare =
        |declarations: &str| declare_in("\"../cu/blur.cu\", include(\"include\")", declarations, TREE);
    assert_errors(
        declare("safe fn twice(n: i32, y: &mut [f32]);"),
        &[
            "[TW0405]: kernel `twice` does not match include/vendor/more.cuh: parameter 1 is `i32`, but the source has \
             `index_t`\nnote: include/vendor/more.cuh:3\nhelp: declare it `u32`",
            "[TW0405]: kernel `twice` does not match include/vendor/more.cuh: parameter 2 is `&mut [f32]`, but the source \
             has `double*`\nnote: include/vendor/more.cuh:3\nhelp: declare it `&mut [f64]`",
        ],
    );
    assert_errors(
        declare("safe fn twcie(n: u32, y: &mut [f64]);"),
        &["[TW0402]: cannot find kernel `twcie` in ../cu/blur.cu\n\
           help: a kernel with a similar name exists: `twice`"],
    );
    let text = dense(declare("safe fn blur(p: Params, x: &[f32], y: &mut [f32]);"));
    assert!(text.contains("note:../cu/params.cuh:4\")"), "{text}");
}

#[test]
fn unreadable_source() {
    let expanded = expand(
        tokens("\"gone.cu\""),
        tokens("unsafe extern \"CUDA\" { safe fn k(x: &[f32]); }"),
        &|_: &LitStr| Err("No such file or directory (os error 2)".to_owned()),
    );
    assert_errors(
        expanded,
        &["[TW0401]: cannot read `gone.cu`\n\
           note: No such file or directory (os error 2)\n\
           help: give its path relative to this source file"],
    );
}

#[test]
fn folders_must_exist_and_headers_be_text() {
    assert_errors(
        declare_in("\"../cu/blur.cu\", include(\"inclood\", \"include\")", "", TREE),
        &["[TW0401]: cannot find the folder `inclood`\nhelp: give its path relative to this source file"],
    );
    let files: &[(&str, &[u8])] =
        &[("k.cu", b"#include \"a.cuh\"\nextern \"C\" __global__ void k();"), ("a.cuh", b"// \xe9t\xe9\n")];
    assert_errors(
        declare_in("\"k.cu\"", "safe fn k();", files),
        &["[TW0401]: `a.cuh` is not UTF-8\nnote: k.cu includes it\nhelp: save it as UTF-8"],
    );
}

#[test]
fn linkage_goes_into_included_files() {
    let files: &[(&str, &[u8])] = &[
        ("k.cu", b"extern \"C\" {\n#include \"inside.cuh\"\n}\n#include \"outside.cuh\"\n"),
        ("inside.cuh", b"__global__ void a(int n) {}"),
        ("outside.cuh", b"__global__ void b(int n) {}"),
    ];
    assert_errors(
        declare_in("\"k.cu\"", "safe fn a(n: i32); safe fn b(n: i32);", files),
        &["[TW0403]: kernel `b` in outside.cuh has no C linkage\n\
           note: outside.cuh:1\n\
           note: C++ mangles its name, so that the driver cannot find it\n\
           help: write `extern \"C\" __global__ void b`, or declare it `#[instantiate(\"b\")]`"],
    );
}

#[test]
fn options_define_constants() {
    let source = "#ifndef TILE\n#define TILE 32\n#endif\nextern \"C\" __global__ void __launch_bounds__(TILE * TILE) k() {}";
    for (attr, threads) in [
        ("\"k.cu\"", 1024),
        ("\"k.cu\", options(\"-DTILE=16\")", 256),
        ("\"k.cu\", options(\"--define-macro=TILE=8\")", 64),
    ] {
        let text = dense(declare_in(attr, "safe fn k();", &[("k.cu", source.as_bytes())]));
        assert!(text.contains(&format!(".launch_bounds({threads}u32)")), "{attr}: {text}");
    }
    assert_declared("safe fn k();", source, &[]);
}
