//! `#[kernels]`: its expansion, and each of its diagnostics.

use crate::declared;

use declared::{
    assert_declared, assert_errors, assert_expansion, declare, dense, errors_and_rest, expand_with,
    formatted, tokens,
};
use proc_macro2::TokenTree;
use thalweg_compiler::kernels::{LitStr, expand};

const SAXPY: &str = "// y += a * x\n\
    \n\
    extern \"C\" __global__ void __launch_bounds__(256)\n\
    saxpy(unsigned int n, float a, const float* __restrict__ x, float* __restrict__ y) {}\n";

const DECLARED: &str = r#"unsafe extern "CUDA" {
    /// `y[i] += a * x[i]` for `i < n`.
    #[host(saxpy_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);

    #[cfg(feature = "fill")]
    safe fn fill(value: f32, y: Out<[f32]>);
}"#;

const FILL: &str = "extern \"C\" __global__ void fill(float value, float* y) {}";

#[test]
fn expands_to_types() {
    let source = format!("{SAXPY}{FILL}");
    assert_expansion("kernels_saxpy.rs", expand_with("\"saxpy.cu\"", DECLARED, &source));
}

#[test]
fn expands_under_another_name() {
    let expanded = expand_with("\"saxpy.cu\", crate = crate::gpu::tw,", DECLARED, &format!("{SAXPY}{FILL}"));
    let text = expanded.to_string();
    assert!(text.contains("crate :: gpu :: tw :: __private"), "{text}");
    assert!(!text.contains("thalweg"), "{text}");
}

#[test]
fn expands_to_stubs_after_an_error() {
    let (errors, rest) = errors_and_rest(expand_with("\"saxpy.cu\"", DECLARED, SAXPY));
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_expansion("kernels_saxpy_stub.rs", quote::quote!(#(#rest)*));
}

#[test]
fn stubs_of_unsound_declarations_take_anything() {
    let (errors, rest) = errors_and_rest(declare("safe fn k<T>(x: &[T], y: _);", ""));
    assert_eq!(errors.len(), 2, "{errors:?}");
    let text = formatted(quote::quote!(#(#rest)*));
    assert!(
        text.contains("x: impl ::core::marker::Sized,\n        y: impl ::core::marker::Sized,"),
        "{text}"
    );
}

#[test]
fn accepts_what_fits() {
    let source = r#"
        #include <params.h>
        extern "C" {
        __global__ void numbers(char a, char b, size_t c, unsigned long long d, long long e, bool f, __half g) {}
        __global__ void structs(Params p, const Params* q, Real r, float4 v, const float4* w, void* x) {}
        __global__ void rows(float (*x)[4]) {}
        __global__ void type(const float* in, float* out);
        #ifdef WIDE
        __global__ void versions(double a) {}
        #else
        __global__ void versions(float a) {}
        #endif
        }
    "#;
    let declarations = r#"
        safe fn numbers(a: i8, b: u8, c: usize, d: u64, e: isize, f: bool, g: half::f16);
        safe fn structs(p: Params, q: &[Params], r: f32, v: [f32; 4], w: &[Float4], x: &mut [u8]);
        safe fn rows(x: &mut [[f32; 4]]);
        safe fn r#type(r#in: &[f32], out: ::thalweg::Out<[f32]>);
        #[allow(dead_code)]
        safe fn versions(a: f32);
    "#;
    assert_declared(declarations, source, &[]);
    assert_declared("", source, &[]);
}

#[test]
fn leaves_ptx_to_the_driver() {
    let expanded = expand_with(
        "\"k.ptx\"",
        "unsafe extern \"CUDA\" { safe fn k(x: &[f32]); }",
        ".version 8.0\n.visible .entry k(.param .u64 k_param_0) { ret; }",
    );
    assert_errors(expanded, &[]);
}

#[test]
fn takes_bounds_from_the_source() {
    for (source, bounds) in [
        ("extern \"C\" __global__ void __launch_bounds__(64) k();", Some(64)),
        (
            "extern \"C\" __global__ void k(); extern \"C\" __global__ void __launch_bounds__(64) k() {}",
            Some(64),
        ),
        (
            "extern \"C\" { __global__ void __launch_bounds__(32) k(); __global__ void __launch_bounds__(64) k() {} }",
            None,
        ),
        ("extern \"C\" __global__ void __launch_bounds__(N) k();", None),
        ("#define N 64\nextern \"C\" __global__ void __launch_bounds__(2 * N) k();", Some(128)),
        (
            "#if A\n#define N 64\n#else\n#define N 32\n#endif\nextern \"C\" __global__ void __launch_bounds__(N) k();",
            None,
        ),
        ("constexpr int n = 32, m = 2; extern \"C\" __global__ void __launch_bounds__(n, 2, 1) k();", None),
        ("constexpr int n = 32; extern \"C\" __global__ void __launch_bounds__(n, 2, 1) k();", Some(32)),
        (
            "static const unsigned N = 1 << 6;\nextern \"C\" __global__ void __launch_bounds__(N) k();",
            Some(64),
        ),
        (
            "enum Sizes { TILE = 16, ROWS = TILE / 2, NEXT };\nextern \"C\" __global__ void __launch_bounds__(TILE * ROWS) k();",
            Some(128),
        ),
        ("#define A B\n#define B A\nextern \"C\" __global__ void __launch_bounds__(A) k();", None),
    ] {
        let text = formatted(declare("safe fn k();", source));
        let found = text.split(".launch_bounds(").nth(1).and_then(|rest| rest.split("u32").next());
        assert_eq!(found, bounds.map(|threads: u32| threads.to_string()).as_deref(), "{source}: {text}");
    }
}

#[test]
fn conditions_read_as_written() {
    for condition in [
        "n as usize <= x.len()",
        "(n as usize) < x.len() && !flags[0]",
        "-1 < m && *p != &q",
        "core::mem::size_of::<Vec<f32>>() == 4",
        "matches!(n, 1..=4 | 8)",
        "x.iter().all(|&v| v >= 0.0)",
        "n << 2 <= Self::LIMIT",
        "N < 4",
        "f(a, -b)? > c - d",
        "n.is_multiple_of(4)",
    ] {
        let text =
            declare(&format!("#[requires({condition})] safe fn k();"), "extern \"C\" __global__ void k();")
                .to_string();
        let literal = format!("{condition:?}");
        assert!(text.contains(&literal), "{condition} in {text}");
    }
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
fn arguments() {
    let block = "unsafe extern \"CUDA\" {}";
    let needs_path = "[TW0407]: `#[kernels]` needs the path of a kernel source\n\
                      note: the path is relative to this source file\n\
                      help: write `#[kernels(\"saxpy.cu\")]`";
    let needs_crate = "[TW0407]: `crate` needs a path\n\
                       note: generated code names the runtime by it\n\
                       help: write `crate = ::thalweg`";
    let cases: &[(&str, &[&str])] = &[
        ("", &[needs_path]),
        ("saxpy", &[needs_path]),
        ("crate = tw", &[needs_path]),
        ("\"k.cu\"", &[]),
        ("\"k.cu\",", &[]),
        ("\"k.cu\", crate = ::tw", &[]),
        (
            "\"k.cu\", arch = 90, crate",
            &[
                "[TW0407]: unknown argument `arch`\n\
                 note: `#[kernels]` takes a path, `include(…)`, `options(…)` and `crate = …`\n\
                 help: remove it",
                needs_crate,
            ],
        ),
        ("\"k.cu\", crate = \"tw\"", &[needs_crate]),
        ("\"k.cu\", crate = a b", &[needs_crate]),
        ("\"k.cu\", crate = a, crate = b", &["[TW0407]: `crate` is given twice\nhelp: remove one of them"]),
        ("\"k.cu\" crate = a", &["[TW0413]: expected `,`\nhelp: write `#[kernels(\"saxpy.cu\")]`"]),
    ];
    for (attr, expected) in cases {
        assert_errors(expand_with(attr, block, ""), expected);
    }
}

#[test]
fn block() {
    let other_item = "[TW0408]: `#[kernels]` stands on an item that is no block of kernels\n\
                      help: put it on `unsafe extern \"CUDA\" { … }`";
    let cases: &[(&str, &[&str])] = &[
        (
            "extern \"CUDA\" { safe fn k(); }",
            &["[TW0408]: a block of kernels must be `unsafe`\n\
               note: nothing checks that the device code keeps to these declarations\n\
               help: write `unsafe extern \"CUDA\"`, which promises it"],
        ),
        (
            "unsafe extern \"C\" { safe fn k(); }",
            &["[TW0408]: `extern \"C\"` blocks hold no kernels\nhelp: write `unsafe extern \"CUDA\"`"],
        ),
        (
            "unsafe extern { safe fn k(); }",
            &["[TW0408]: a block of kernels needs its ABI\nhelp: write `unsafe extern \"CUDA\"`"],
        ),
        ("mod kernels { fn f() {} }", &[other_item]),
        ("unsafe fn k() {}", &[other_item]),
        ("extern \"C\" fn k() {}", &[other_item]),
        ("extern crate core;", &[other_item]),
        ("", &[other_item]),
        (
            "#[repr(C)] /** docs */ unsafe extern \"CUDA\" { safe fn k(); }",
            &["[TW0412]: unknown attribute `repr`\n\
               note: a block of kernels takes `cfg` and lint levels\n\
               help: remove it"],
        ),
    ];
    for (item, expected) in cases {
        let expanded = expand_with("\"k.cu\"", item, "extern \"C\" __global__ void k();");
        let (errors, rest) = errors_and_rest(expanded);
        assert_eq!(&errors, expected, "{item}");
        assert_eq!(rest.is_empty(), item.is_empty(), "{item} leaves something of its names");
    }
}

#[test]
fn declarations() {
    const FORM: &str = "help: kernels are declared `safe fn name(n: u32, x: &[f32], y: &mut [f32]);`";
    const TAKES: &str = "note: kernels take scalars by value, `&[T]`, `&mut [T]` and `Out<[T]>`";
    let not_safe = "[TW0409]: kernel `k` is not declared `safe`\n\
                    note: pipelines launch kernels from safe code\n\
                    help: write `safe fn`, and state with `#[requires(…)]` what it needs";
    let generic = "[TW0410]: kernel `k` is generic\n\
                   note: the source has one kernel of that name\n\
                   help: declare one kernel for each type";
    let no_declaration = format!("[TW0410]: this is no declaration of a kernel\n{FORM}");
    let no_name = "[TW0410]: parameter 1 of kernel `k` has no plain name\n\
                   note: conditions and the source refer to parameters by name\n\
                   help: write `name: type`";
    let cannot_take = |ty: &str, help: &str| {
        let help = if help.is_empty() { String::new() } else { format!("\nhelp: {help}") };
        format!("[TW0410]: a kernel cannot take a `{ty}`\n{TAKES}{help}")
    };
    let unknown = "[TW0412]: unknown attribute `inline`\n\
                   note: a kernel takes `host`, `requires`, `instantiate`, `cluster`, `cooperative`, docs, `cfg` and \
                   lint levels\n\
                   help: remove it";
    let cases: &[(&str, &[&str])] = &[
        ("fn k();", &[not_safe]),
        ("unsafe fn k();", &[not_safe]),
        ("safe fn k<T>();", &[generic]),
        ("safe fn k<'a>();", &[generic]),
        ("safe fn k() where u8: Copy;", &[generic]),
        (
            "safe fn k() -> f32;",
            &["[TW0410]: kernel `k` returns `f32`\n\
               note: `__global__` functions return nothing\n\
               help: write the result through a parameter, `Out<[f32]>`"],
        ),
        (
            "safe fn k(n: u32, ...);",
            &[
                "[TW0410]: kernel `k` is variadic\nnote: a kernel has a fixed list of parameters\nhelp: remove it",
            ],
        ),
        (
            "async safe fn k();",
            &[
                "[TW0410]: kernel `k` is declared `async`\nnote: a kernel is a plain `safe fn`\nhelp: remove it",
            ],
        ),
        (
            "safe fn k(&self);",
            &["[TW0410]: kernel `k` takes `self`\n\
               note: a kernel is a free function of the source\n\
               help: remove it"],
        ),
        ("safe fn k(_: u32);", &[no_name]),
        ("safe fn k(mut n: u32);", &[no_name]),
        ("safe fn k((a, b): (u32, u32));", &[no_name]),
        (
            "safe fn k(n: u32, n: u32);",
            &[
                "[TW0411]: parameter `n` is declared twice\nnote: first declared at line 1\nhelp: rename one of them",
            ],
        ),
        (
            "safe fn k(); safe fn k(n: u32);",
            &[
                "[TW0411]: kernel `k` is declared twice\nnote: first declared at line 1\nhelp: remove one of them",
            ],
        ),
        ("safe fn k(x: *const f32);", &[&cannot_take("*const f32", "declare it `&[f32]`")]),
        ("safe fn k(x: *mut f32);", &[&cannot_take("*mut f32", "declare it `&mut [f32]`")]),
        ("safe fn k(x: [f32]);", &[&cannot_take("[f32]", "declare it `&[f32]`")]),
        ("safe fn k(x: &[f32; 4]);", &[&cannot_take("&[f32; 4]", "declare it `&[f32]`")]),
        ("safe fn k(x: &'static [f32]);", &[&cannot_take("&'static [f32]", "declare it `&[f32]`")]),
        ("safe fn k(x: &mut f32);", &[&cannot_take("&mut f32", "declare it `&mut [f32]`")]),
        ("safe fn k(x: &Params);", &[&cannot_take("&Params", "pass it by value, or as a slice of one")]),
        ("safe fn k(x: Out<f32>);", &[&cannot_take("Out<f32>", "declare it `Out<[f32]>`")]),
        ("safe fn k(x: Out);", &[&cannot_take("Out", "declare it `Out<[T]>`")]),
        ("safe fn k(x: impl Copy);", &[&cannot_take("impl Copy", "")]),
        ("safe fn k(x: _);", &[&cannot_take("_", "")]),
        ("safe fn k(x: fn(u32) -> u32);", &[&cannot_take("fn(u32) -> u32", "")]),
        ("safe fn k() {}", &[&no_declaration]),
        ("safe static N: u32;", &[&no_declaration]),
        ("type T;", &[&no_declaration]),
        ("more!();", &[&no_declaration]),
        ("#[inline] safe fn k();", &[unknown]),
        (
            "safe fn k(#[cfg(a)] n: u32);",
            &[
                "[TW0412]: unknown attribute `cfg`\nnote: a parameter takes `symbol` and `reads`\nhelp: remove it",
            ],
        ),
        (
            "#[host] safe fn k();",
            &["[TW0412]: `#[host]` needs the path of a function\n\
               note: it names what the simulated device runs\n\
               help: write `#[host(k_on_host)]`"],
        ),
        (
            "#[host(a)] #[host(b)] safe fn k();",
            &["[TW0412]: kernel `k` has two host bodies\nhelp: remove one of them"],
        ),
        (
            "#[requires(n +)] safe fn k(n: u32);",
            &["[TW0412]: `#[requires]` needs a condition\n\
               note: unexpected end of input, expected an expression\n\
               help: write `#[requires((n as usize) < x.len())]`"],
        ),
        // The parser goes on behind the next `;`.
        (
            "safe fn a(n u32); safe fn 4(); safe fn k();",
            &[&format!("[TW0413]: expected `:`\n{FORM}"), &format!("[TW0413]: expected identifier\n{FORM}")],
        ),
    ];
    for (declarations, expected) in cases {
        let expanded = declare(declarations, "extern \"C\" __global__ void k();");
        let (errors, rest) = errors_and_rest(expanded);
        assert_eq!(&errors, expected, "{declarations}");
        let has_stub = rest.iter().any(|item| matches!(item, syn::Item::Struct(item) if item.ident == "k"));
        let declares_k = declarations.contains("fn k") && !declarations.contains("{}");
        assert_eq!(has_stub, declares_k, "{declarations}");
    }
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
    // To pipelines and to the host body it is a slice that is read.
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
             note: kernels only read what stands for a symbol\n\
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
        &["[TW0412]: `#[reads]` has no use for a source that is compiled\n\
           note: it does not say which of its pointers are `const`\n\
           help: remove it"],
    );
}
