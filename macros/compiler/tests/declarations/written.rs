//! `#[kernels]`: the errors for arguments, blocks and declarations that are wrong in themselves.

use crate::declared;

use declared::{assert_errors, declare, declare_in, errors_and_rest, expand_with};

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
fn arguments_for_nvrtc() {
    let cases: &[(&str, &[&str])] = &[
        (
            "\"k.cu\", include(\"a\"), options(\"-DX\", \"-DMAX(a, b)=a - b\", \"-std=c++20\")",
            &["[TW0401]: cannot find the folder `a`\nhelp: give its path relative to this source file"],
        ),
        (
            "\"k.cu\", include",
            &[
                "[TW0407]: `include` needs folders\nnote: included files are looked for in them, in order\nhelp: write `include(\"include\")`",
            ],
        ),
        (
            "\"k.cu\", options()",
            &[
                "[TW0407]: `options` needs options of NVRTC\nnote: each option is a string of its own\nhelp: write `options(\"--use_fast_math\")`",
            ],
        ),
        (
            "\"k.cu\", options(\"-DA\"), options(\"-DB\")",
            &["[TW0407]: `options` is given twice\nhelp: write both in one, `options(\"…\", \"…\")`"],
        ),
        (
            "\"k.cu\", options(\"TILE=16\")",
            &[
                "[TW0407]: `TILE=16` is not an option\nnote: an option begins with `-`\nhelp: write `-DTILE=16`, for one",
            ],
        ),
        (
            "\"k.cu\", options(\"-arch=sm_90\")",
            &[
                "[TW0407]: `-arch` is given by the runtime\nnote: the source is compiled for the GPU that runs it\nhelp: remove it",
            ],
        ),
        (
            "\"k.cu\", options(\"--include-path=../x\", \"-Iy\")",
            &[
                "[TW0407]: `--include-path` is not an option here\nnote: included files are embedded, so that they need not be where the program runs\nhelp: write `include(\"../x\")`",
                "[TW0407]: `-Iy` is not an option here\nnote: included files are embedded, so that they need not be where the program runs\nhelp: write `include(\"y\")`",
            ],
        ),
        (
            "\"k.cu\", options(\"--use_fast_math -DA\")",
            &[
                "[TW0407]: `--use_fast_math -DA` holds several options\nnote: each option is a string of its own\nhelp: write `options(\"--use_fast_math\", \"-DA\")`",
            ],
        ),
        (
            "\"k.ptx\", options(\"-DA\"), include(\"a\")",
            &[
                "[TW0407]: `options` does not apply to `k.ptx`\nnote: it is compiled already\nhelp: remove it",
                "[TW0407]: `include` does not apply to `k.ptx`\nnote: it is compiled already\nhelp: remove it",
            ],
        ),
    ];
    for (attr, expected) in cases {
        let files: &[(&str, &[u8])] = &[("k.cu", b""), ("k.ptx", b".version 8.0")];
        assert_errors(declare_in(attr, "", files), expected);
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
    let no_declaration = format!("[TW0410]: this is not a declaration of a kernel\n{FORM}");
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
               note: it names the function that the simulated device runs\n\
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
