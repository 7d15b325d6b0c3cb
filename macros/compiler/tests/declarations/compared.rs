//! `#[kernels]`: the errors for declarations that differ from their source.

use crate::declared;

use declared::{FILL, SAXPY, assert_declared, assert_errors, declare, dense, expand_with, tokens};
use proc_macro2::TokenTree;
use thalweg_compiler::kernels::{LitStr, expand};

#[test]
fn missing_kernel() {
    assert_declared(
        "safe fn sxpy(n: u32);",
        SAXPY,
        &["[TW0402]: cannot find kernel `sxpy` in k.cu\n\
           help: a kernel with a similar name exists: `saxpy`"],
    );
    assert_declared(
        "safe fn reduce(n: u32);",
        &format!("{SAXPY}{FILL}"),
        &["[TW0402]: cannot find kernel `reduce` in k.cu\n\
           note: its kernels are `saxpy`, `fill`\n\
           help: add `extern \"C\" __global__ void reduce(…)` to it"],
    );
    assert_declared(
        "safe fn reduce(n: u32);",
        "extern \"C\" void reduce(unsigned n) {}",
        &["[TW0402]: cannot find kernel `reduce` in k.cu\n\
           note: it has no `extern \"C\" __global__` function\n\
           help: add `extern \"C\" __global__ void reduce(…)` to it"],
    );
}

#[test]
fn mangled_kernel() {
    assert_declared(
        "safe fn k(n: u32);",
        "\n__global__ void k(unsigned n) {}",
        &["[TW0403]: kernel `k` in k.cu has no C linkage\n\
           note: k.cu:2\n\
           note: C++ mangles its name, so that the driver cannot find it\n\
           help: write `extern \"C\" __global__ void k`, or declare it `#[instantiate(\"k\")]`"],
    );
    assert_declared(
        "safe fn k(x: &mut [f32]);",
        "template <typename T>\n__global__ void k(T* x) {}",
        &["[TW0403]: kernel `k` in k.cu is a template\n\
           note: k.cu:2\n\
           note: C++ mangles the names of its instances, so that the driver cannot find them\n\
           help: name the instance: `#[instantiate(\"k<…>\")]`"],
    );
}

#[test]
fn parameter_count() {
    assert_declared(
        "safe fn saxpy(n: u32, a: f32, x: &[f32]);",
        SAXPY,
        &["[TW0404]: kernel `saxpy` does not match k.cu: it has 3 parameters, but the source has 4\n\
           note: k.cu:4\n\
           help: declare it `safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32])`"],
    );
    assert_declared(
        "safe fn k(x: &[f32]);",
        "struct Params; extern \"C\" __global__ void k(const unsigned char* in, size_t, Params p, void* self);",
        &["[TW0404]: kernel `k` does not match k.cu: it has 1 parameter, but the source has 4\n\
           note: k.cu:1\n\
           help: declare it `safe fn k(r#in: &[u8], argument_2: usize, p: Params, argument_4: &mut [u8])`"],
    );
}

#[test]
fn parameter_types() {
    let cases = [
        ("n: i32", "unsigned int n", "i32", "unsigned int", "u32"),
        ("n: u64", "unsigned n", "u64", "unsigned", "u32"),
        ("n: u32", "size_t n", "u32", "size_t", "usize"),
        ("n: u32", "char n", "u32", "char", "i8"),
        ("n: f32", "double n", "f32", "double", "f64"),
        ("n: f32", "float4 n", "f32", "float4", "[f32; 4]"),
        ("n: f32", "const float* n", "f32", "const float*", "&[f32]"),
        ("n: f32", "float* n", "f32", "float*", "&mut [f32]"),
        ("n: Params", "const Params* n", "Params", "const Params*", "&[Params]"),
        ("n: &[f32]", "float n", "&[f32]", "float", "f32"),
        ("n: &[f32]", "Params n", "&[f32]", "Params", "Params"),
        ("n: &[f64]", "const float* n", "&[f64]", "const float*", "&[f32]"),
        ("n: &[f64]", "float* n", "&[f64]", "float*", "&mut [f32]"),
        ("n: &mut [i32]", "unsigned* n", "&mut [i32]", "unsigned*", "&mut [u32]"),
        ("n: Out<[f64]>", "float* n", "Out<[f64]>", "float*", "Out<[f32]>"),
        ("n: Out<[f64]>", "const float* n", "Out<[f64]>", "const float*", "&[f32]"),
    ];
    for (here, there, here_type, there_type, help) in cases {
        assert_declared(
            &format!("safe fn k({here});"),
            &format!("struct Params; extern \"C\" __global__ void k(\n{there});"),
            &[&format!(
                "[TW0405]: kernel `k` does not match k.cu: parameter 1 is `{here_type}`, but the source has \
                 `{there_type}`\nnote: k.cu:2\nhelp: declare it `{help}`"
            )],
        );
    }
}

#[test]
fn parameter_constness() {
    assert_declared(
        "safe fn saxpy(n: u32, a: f32, x: &mut [f32], y: &[f32]);",
        SAXPY,
        &[
            "[TW0406]: kernel `saxpy` does not match k.cu: parameter 3 is `&mut [f32]`, but the source has \
             `const float*`\nnote: k.cu:4\nhelp: declare it `&[f32]`",
            "[TW0406]: kernel `saxpy` does not match k.cu: parameter 4 is `&[f32]`, but the source has `float*`\n\
             note: k.cu:4\n\
             note: the kernel may write through it\n\
             help: write `const float*` in the source, declare it `&mut [f32]`, or, if the kernel only reads, \
             `#[reads] y: &[f32]`",
        ],
    );
    assert_declared(
        "safe fn k(x: Out<[Params]>);",
        "struct Params; extern \"C\" __global__ void k(const Params* x);",
        &["[TW0406]: kernel `k` does not match k.cu: parameter 1 is `Out<[Params]>`, but the source has \
           `const Params*`\nnote: k.cu:1\nhelp: declare it `&[Params]`"],
    );
}

#[test]
fn types_from_macro_rules_are_seen_through() {
    let group =
        |text: &str| TokenTree::from(proc_macro2::Group::new(proc_macro2::Delimiter::None, tokens(text)));
    let (scalar, slice, element) = (group("u32"), group("&[f32]"), group("f32"));
    let expanded = expand(
        tokens("\"k.cu\""),
        quote::quote!(unsafe extern "CUDA" { safe fn saxpy(n: #scalar, a: f64, x: #slice, y: &mut [#element]); }),
        &|_: &LitStr| Ok(SAXPY.as_bytes().to_vec()),
    );
    assert_errors(
        expanded,
        &["[TW0405]: kernel `saxpy` does not match k.cu: parameter 2 is `f64`, but the source has `float`\n\
           note: k.cu:4\n\
           help: declare it `f32`"],
    );
}

#[test]
fn a_pointer_that_is_not_const_may_be_promised_to_be_read_only() {
    let source = "extern \"C\" __global__ void add(unsigned n, float* x, const float* y, float* z);";
    let declared = |x: &str, y: &str, z: &str| format!("safe fn add(n: u32, {x}, {y}, {z});");
    let right = declared("#[reads] x: &[f32]", "y: &[f32]", "z: Out<[f32]>");
    assert_declared(&right, source, &[]);
    // Pipelines and the host body see a slice that is read.
    let plain = declared("x: &[f32]", "y: &[f32]", "z: Out<[f32]>");
    let launch = |declaration: &str, source: &str| {
        let text = dense(declare(declaration, source));
        text[text.find("pubfnlaunch").expect("a launch")..].to_owned()
    };
    assert_eq!(launch(&right, source), launch(&plain, &source.replace("float* x", "const float* x")));
    for (declaration, expected) in [
        (
            declared("x: &[f32]", "y: &[f32]", "z: Out<[f32]>"),
            "[TW0406]: kernel `add` does not match k.cu: parameter 2 is `&[f32]`, but the source has `float*`\n\
             note: k.cu:1\n\
             note: the kernel may write through it\n\
             help: write `const float*` in the source, declare it `&mut [f32]`, or, if the kernel only reads, \
             `#[reads] x: &[f32]`",
        ),
        (
            declared("#[reads] x: &[f32]", "#[reads] y: &[f32]", "z: Out<[f32]>"),
            "[TW0406]: kernel `add` does not match k.cu: parameter 3 is `&[f32]`, but the source has `const float*`\n\
             note: k.cu:1\n\
             note: `#[reads]` is for pointers that are not `const`: here it would promise what is checked\n\
             help: remove `#[reads]`",
        ),
        (
            declared("#[reads] x: &[u32]", "y: &[f32]", "z: Out<[f32]>"),
            "[TW0405]: kernel `add` does not match k.cu: parameter 2 is `&[u32]`, but the source has `float*`\n\
             note: k.cu:1\n\
             help: declare it `&mut [f32]`",
        ),
        (
            declared("#[reads] x: &[f32]", "y: &[f32]", "#[reads] z: Out<[f32]>"),
            "[TW0412]: parameter `z` is written, and cannot be `#[reads]`\n\
             note: it promises that the kernel does not write through the pointer\n\
             help: declare it `&[T]`",
        ),
        (
            declared("#[reads(all)] x: &[f32]", "y: &[f32]", "z: Out<[f32]>"),
            "[TW0412]: `#[reads]` takes nothing\n\
             note: it promises that the kernel does not write through the pointer\n\
             help: write `#[reads]`",
        ),
        (
            declared("#[reads] #[reads] x: &[f32]", "y: &[f32]", "z: Out<[f32]>"),
            "[TW0412]: parameter `x` has `#[reads]` twice\nhelp: remove one of them",
        ),
        (
            declared("#[reads] x: &[f32]", "y: &[f32]", "z: Out<[f32]>, #[reads] #[symbol] w: &[f32]"),
            "[TW0412]: `#[reads]` has no use beside `#[symbol]`\n\
             note: a kernel only reads a parameter that stands for a symbol\n\
             help: remove `#[reads]`",
        ),
        (
            "safe fn add(n: u32, #[reads] x: &[f32], y: &[f32]);".to_owned(),
            "[TW0404]: kernel `add` does not match k.cu: it has 3 parameters, but the source has 4\n\
             note: k.cu:1\n\
             help: declare it `safe fn add(n: u32, #[reads] x: &[f32], y: &[f32], z: &mut [f32])`",
        ),
    ] {
        assert_declared(&declaration, source, &[expected]);
    }
    // One of two versions is `const`.
    let versions = "#if A\nextern \"C\" __global__ void k(float* x) {}\n#else\n\
                    extern \"C\" __global__ void k(const float* x) {}\n#endif";
    assert_declared("safe fn k(#[reads] x: &[f32]);", versions, &[]);
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(\n.param .u64 k_param_0\n)\n{\nret;\n}\n";
    let block = "unsafe extern \"CUDA\" { safe fn k(#[reads] x: &[f32]); }";
    assert_errors(
        expand_with("\"k.ptx\"", block, ptx),
        &["[TW0412]: `#[reads]` does not apply to a compiled source\n\
           note: it does not say which of its pointers are `const`\n\
           help: remove it"],
    );
}
