//! `#[kernels]`: the kinds of sources, and the files that one includes.

use crate::declared;

use declared::{assert_declared, assert_errors, assert_expansion, declare_in, dense, errors_and_rest};
use proptest::prelude::*;

/// What two folders hold; `math.cuh` is included in two ways.
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

const PTX: &str = "//\n// Generated by NVIDIA NVVM Compiler\n//\n\n.version 9.0\n.target sm_90\n.address_size 64\n\n\
    .const .align 4 .b8 weights[100];\n.visible .global .align 4 .u32 counter = 1;\n\n\
    .visible .entry k(\n\t.param .align 8 .b8 k_param_0[24],\n\t.param .u64 .ptr .global .align 4 k_param_1,\n\t\
    .param .u8 k_param_2\n)\n.maxntid 256, 2, 1\n{\n\t.reg .b32 %r<5>;\n\t.shared .align 4 .b8 s[64];\n\tret;\n}\n\
    .func (.param .b32 r) helper(.param .b32 a) { ret; }\n\
    .weak .entry _Z5scalejPf(.param .u32 a, .param .u64 b) .reqnctapercluster 2, 1, 1 { ret; }\n\
    .entry none() { ret; }\n\0";

#[track_caller]
fn assert_ptx(declarations: &str, expected: &[&str]) {
    assert_errors(declare_in("\"k.ptx\"", declarations, &[("k.ptx", PTX.as_bytes())]), expected);
}

#[test]
fn ptx_that_fits() {
    let declarations = "safe fn k(p: Params, x: &[f32], c: u8, #[symbol] weights: &[f32]); \
        #[cluster(2)] safe fn _Z5scalejPf(n: u32, x: Out<[Point]>); safe fn none();";
    let expanded = declare_in("\"k.ptx\"", declarations, &[("k.ptx", PTX.as_bytes())]);
    assert_errors(expanded.clone(), &[]);
    let text = dense(expanded);
    for part in [
        "KernelModule::image(\"k.ptx\",::core::include_bytes!(\"k.ptx\"))",
        ".parameters(&[::core::mem::size_of::<Params>(),8,1]).symbols(&[\"weights\"]).symbol_bytes(&[::core::option::Option::Some(100)]).launch_bounds(512u32)",
        "same_layout::<Params>(&[(24,::core::option::Option::None)],\"[TW0417]:`Params`\",\"parameter1ofkernel`k`ink.ptx\",\"\\nnote:k.ptx:13\")",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains(".cluster"), "the source has it: {text}");
}

#[test]
fn ptx_that_does_not_fit() {
    assert_ptx(
        "safe fn k(p: u64, x: u32, c: bool);",
        &[
            "[TW0405]: kernel `k` does not match k.ptx: parameter 1 is `u64`, 8 bytes, but the source has 24 bytes\n\
             note: k.ptx:13\nhelp: declare a type of 24 bytes",
            "[TW0405]: kernel `k` does not match k.ptx: parameter 2 is `u32`, 4 bytes, but the source has 8 bytes\n\
             note: k.ptx:14\nhelp: declare a type of 8 bytes",
        ],
    );
    assert_ptx(
        "safe fn k(x: &[f32]);",
        &["[TW0404]: kernel `k` does not match k.ptx: it has 1 parameter, but the source has 3\n\
           note: k.ptx:12\nnote: theirs have 24, 8, 1 bytes\nhelp: declare as many; a pointer has 8 bytes"],
    );
    assert_ptx(
        "safe fn scale(n: u32, x: &mut [f32]);",
        &["[TW0403]: cannot find kernel `scale` in k.ptx\n\
           note: it has `_Z5scalejPf`, whose name C++ has changed\n\
           help: write `extern \"C\"` in its source, or declare `_Z5scalejPf`"],
    );
    assert_ptx(
        "safe fn noen();",
        &["[TW0402]: cannot find kernel `noen` in k.ptx\nhelp: a kernel with a similar name exists: `none`"],
    );
    assert_ptx(
        "safe fn k(p: Params, x: &[f32], c: u8, #[symbol] weihgts: &[f32]); #[cluster(4, 2)] \
         safe fn _Z5scalejPf(n: u32, x: Out<[Point]>);",
        &[
            "[TW0415]: cannot find variable `weihgts` in k.ptx\n\
             help: a variable with a similar name exists: `weights`",
            "[TW0418]: kernel `_Z5scalejPf` is launched in clusters of (4, 2), but k.ptx has (2)\n\
             note: k.ptx:24\n\
             note: a launch cannot change what is compiled in\n\
             help: remove `#[cluster]`: the source says enough",
        ],
    );
}

/// A cubin with the sections that are read, built by hand: `k(Params (24 bytes), pointer)` with bounds of 128 threads, and
/// `q(5000 bytes)` in clusters of 2.
fn cubin() -> Vec<u8> {
    let entry = |attribute: u8, value: &[u8]| {
        [&[4, attribute], &(value.len() as u16).to_le_bytes()[..], value].concat()
    };
    let parameter = |ordinal: u16, size: u32| {
        let packed = ((size << 18) | 0x1f000).to_le_bytes();
        entry(0x17, &[&[0; 4], &ordinal.to_le_bytes()[..], &[0; 2], &packed].concat())
    };
    let three = |x: u32| [x.to_le_bytes(), 1_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat();
    let large = entry(0x45, &[&[0; 8], &5000_u16.to_le_bytes()[..], &[0; 2]].concat());
    let info_k =
        [&[3, 0x1b, 255, 0][..], &parameter(1, 8), &parameter(0, 24), &entry(0x05, &three(128))].concat();
    let info_q = [&large[..], &entry(0x3d, &three(2))].concat();

    let strings = b"\0k\0q\0table\0helper\0";
    let symbol = |name: u32, kind: u8, other: u8, section: u16, size: u64| {
        [&name.to_le_bytes(), &[kind, other][..], &section.to_le_bytes(), &[0; 8], &size.to_le_bytes()]
            .concat()
    };
    let symbols = [
        symbol(0, 0, 0, 0, 0),
        symbol(1, 0x12, 0x10, 5, 640),
        symbol(3, 0x12, 0x10, 6, 640),
        symbol(5, 0x11, 0, 5, 100),
        symbol(11, 0x12, 0, 5, 64),
    ]
    .concat();
    let names = b"\0.shstrtab\0.strtab\0.symtab\0.nv.info.k\0.nv.info.q\0";
    let sections: [(u32, u32, u32, &[u8]); 6] = [
        (0, 0, 0, b""),
        (1, 3, 0, names),
        (11, 3, 0, strings),
        (19, 2, 2, &symbols),
        (27, 0x7000_0000, 0, &info_k),
        (38, 0x7000_0000, 0, &info_q),
    ];
    let mut file = [&b"\x7fELF\x02\x01\x01"[..], &[0; 57]].concat();
    file[18] = 190;
    let mut headers = Vec::new();
    for (name, kind, link, bytes) in sections {
        let (offset, size) = (file.len() as u64, bytes.len() as u64);
        headers.extend([name.to_le_bytes(), kind.to_le_bytes()].concat());
        headers.extend([0; 16]);
        headers.extend([offset.to_le_bytes(), size.to_le_bytes()].concat());
        headers.extend(link.to_le_bytes());
        headers.extend([0; 20]);
        file.extend(bytes);
    }
    let table = file.len() as u64;
    file[40..48].copy_from_slice(&table.to_le_bytes());
    for (at, value) in [(58, 64_u16), (60, 6), (62, 1)] {
        file[at..at + 2].copy_from_slice(&value.to_le_bytes());
    }
    file.extend(headers);
    file
}

#[test]
fn cubins() {
    let file = cubin();
    let declare = |declarations: &str| declare_in("\"k.cubin\"", declarations, &[("k.cubin", &file)]);
    let expanded = declare("safe fn k(p: Params, x: &[f32], #[symbol] table: &[u8]); safe fn q(p: Large);");
    assert_errors(expanded.clone(), &[]);
    let text = dense(expanded);
    for part in [
        "include_bytes!(\"k.cubin\")",
        ".launch_bounds(128u32)",
        "same_layout::<Params>(&[(24,",
        "same_layout::<Large>(&[(5000,",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_errors(
        declare("safe fn k(p: Params, x: f32); #[cluster(4)] safe fn q(p: Large, n: u32); safe fn helper();"),
        &[
            "[TW0405]: kernel `k` does not match k.cubin: parameter 2 is `f32`, 4 bytes, but the source has 8 bytes\n\
             help: declare a type of 8 bytes",
            "[TW0418]: kernel `q` is launched in clusters of (4), but k.cubin has (2)\n\
             note: a launch cannot change what is compiled in\n\
             help: remove `#[cluster]`: the source says enough",
            "[TW0404]: kernel `q` does not match k.cubin: it has 2 parameters, but the source has 1\n\
             note: theirs have 5000 bytes\nhelp: declare as many; a pointer has 8 bytes",
            "[TW0402]: cannot find kernel `helper` in k.cubin\nnote: its kernels are `k`, `q`\n\
             help: declare the name that it has there",
        ],
    );
}

#[test]
fn a_cubin_cut_short_is_refused() {
    let file = cubin();
    for end in 0..file.len() {
        let expanded =
            declare_in("\"k.cubin\"", "safe fn k(p: Params, x: &[f32]);", &[("k.cubin", &file[..end])]);
        let (errors, _) = errors_and_rest(expanded);
        assert!(
            errors.len() == 1 && errors[0].starts_with("[TW0414]: `k.cubin` is not a cubin"),
            "{end}: {errors:?}"
        );
    }
    // A flipped byte is another file; it may be refused, and nothing panics.
    for at in 0..file.len() {
        let mut file = file.clone();
        file[at] ^= 0xff;
        errors_and_rest(declare_in("\"k.cubin\"", "safe fn k(p: Params, x: &[f32]);", &[("k.cubin", &file)]));
    }
}

/// A file of 1.5 KiB whose 65,535 headers are one, that of 60 symbols, would have millions of kernels.
#[test]
fn a_cubins_headers_are_apart() {
    let declare =
        |file: &[u8]| errors_and_rest(declare_in("\"k.cubin\"", "safe fn nobody();", &[("k.cubin", file)])).0;
    let mut file = cubin();
    for step in [0_u16, 1, 63] {
        file[58..60].copy_from_slice(&step.to_le_bytes());
        let errors = declare(&file);
        assert!(errors[0].starts_with("[TW0414]: `k.cubin` is not a cubin"), "{step}: {errors:?}");
    }
    // All sections are the table of symbols, of which a file has one.
    let mut file = cubin();
    let table = usize::from(u16::from_le_bytes([file[40], file[41]]));
    let symbols = file[table + 3 * 64..][..64].to_vec();
    file.truncate(table + 6 * 64);
    for _ in 0..100 {
        file.extend(&symbols);
    }
    file[60..62].copy_from_slice(&106_u16.to_le_bytes());
    let errors = declare(&file);
    assert!(errors[0].contains("\nnote: its kernels are `k`, `q`\n"), "{errors:?}");
}

#[test]
fn a_fatbin_is_left_to_the_driver() {
    let fatbin = b"\x50\xed\x55\xba\x01\x00\x10\x00";
    let expanded = declare_in("\"k.fatbin\"", "safe fn k(p: Params, n: u32);", &[("k.fatbin", fatbin)]);
    assert_errors(expanded.clone(), &[]);
    assert!(dense(expanded).contains("image(\"k.fatbin\",::core::include_bytes!(\"k.fatbin\"))"));
}

#[test]
fn what_a_file_is_not() {
    let elf = [&b"\x7fELF\x02"[..], &[0; 60]].concat();
    let cubin = cubin();
    let cases: &[(&str, &[u8], &str)] = &[
        (
            "k.rs",
            b"",
            "[TW0414]: `k.rs` is not named as a kernel source is\n\
             note: sources are `.cu`, `.ptx`, `.cubin` and `.fatbin` files\n\
             help: give the file the ending of what is in it",
        ),
        (
            "k",
            b"",
            "[TW0414]: `k` is not named as a kernel source is\n\
             note: sources are `.cu`, `.ptx`, `.cubin` and `.fatbin` files\n\
             help: give the file the ending of what is in it",
        ),
        (
            "k.ptx",
            b"__global__ void k() {}",
            "[TW0414]: `k.ptx` is not PTX\nnote: it does not begin with `.version`\nhelp: rename it to `k.cu` if it is CUDA C++",
        ),
        ("k.ptx", &cubin, "[TW0414]: `k.ptx` is not PTX\nnote: it is a cubin\nhelp: rename it to `k.cubin`"),
        (
            "k.cu",
            b".version 8.0",
            "[TW0414]: `k.cu` is not CUDA C++\nnote: it is PTX\nhelp: rename it to `k.ptx`",
        ),
        ("k.cu", b"\xff\xfe", "[TW0414]: `k.cu` is not UTF-8\nnote: k.cu:1\nhelp: save it as UTF-8"),
        (
            "k.cubin",
            &elf,
            "[TW0414]: `k.cubin` is not a cubin\nnote: it is cut short, or an ELF file of another kind\nhelp: make it again",
        ),
        (
            "k.cubin",
            b".version 8.0",
            "[TW0414]: `k.cubin` is not a cubin\nnote: it is PTX\nhelp: rename it to `k.ptx`",
        ),
        (
            "k.fatbin",
            b"\x00\xff",
            "[TW0414]: `k.fatbin` is not a fatbin\nnote: it does not begin as one does\nhelp: make it again",
        ),
        (
            "k.fatbin",
            &cubin,
            "[TW0414]: `k.fatbin` is not a fatbin\nnote: it is a cubin\nhelp: rename it to `k.cubin`",
        ),
    ];
    for (path, bytes, expected) in cases {
        assert_errors(declare_in(&format!("{path:?}"), "safe fn k();", &[(path, bytes)]), &[expected]);
    }
}

#[test]
fn arguments() {
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
                "[TW0407]: `options` needs options of NVRTC\nnote: each is a string of its own\nhelp: write `options(\"--use_fast_math\")`",
            ],
        ),
        (
            "\"k.cu\", options(\"-DA\"), options(\"-DB\")",
            &["[TW0407]: `options` is given twice\nhelp: write both in one, `options(\"…\", \"…\")`"],
        ),
        (
            "\"k.cu\", options(\"TILE=16\")",
            &[
                "[TW0407]: `TILE=16` is no option\nnote: each begins with `-`\nhelp: write `-DTILE=16`, for one",
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
                "[TW0407]: `--include-path` is no option here\nnote: included files are embedded, so that they need not be where the program runs\nhelp: write `include(\"../x\")`",
                "[TW0407]: `-Iy` is no option here\nnote: included files are embedded, so that they need not be where the program runs\nhelp: write `include(\"y\")`",
            ],
        ),
        (
            "\"k.cu\", options(\"--use_fast_math -DA\")",
            &[
                "[TW0407]: `--use_fast_math -DA` are several options\nnote: each is a string of its own\nhelp: write `options(\"--use_fast_math\", \"-DA\")`",
            ],
        ),
        (
            "\"k.ptx\", options(\"-DA\"), include(\"a\")",
            &[
                "[TW0407]: `options` has no use for `k.ptx`\nnote: it is compiled already\nhelp: remove it",
                "[TW0407]: `include` has no use for `k.ptx`\nnote: it is compiled already\nhelp: remove it",
            ],
        ),
    ];
    for (attr, expected) in cases {
        let files: &[(&str, &[u8])] = &[("k.cu", b""), ("k.ptx", b".version 8.0")];
        assert_errors(declare_in(attr, "", files), expected);
    }
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

/// Words of which sources are made, in any order.
const WORDS: &[&str] = &[
    "extern \"C\"",
    "__global__",
    "void",
    "k",
    "(",
    ")",
    "{",
    "}",
    ";",
    ",",
    "<",
    ">",
    "[",
    "]",
    "=",
    "*",
    "&",
    ":",
    "::",
    "struct",
    "P",
    "enum",
    "class",
    "union",
    "typedef",
    "using",
    "namespace",
    "template",
    "typename",
    "T",
    "int N",
    "const",
    "constexpr",
    "unsigned",
    "float",
    "float4",
    "half",
    "__constant__",
    "__device__",
    "__shared__",
    "w",
    "256",
    "0x",
    "N",
    "__launch_bounds__",
    "__cluster_dims__",
    "__align__",
    "static",
    "virtual",
    "operator",
    "...",
    "-",
    "<<",
    "%",
    "/ 0",
    "\n#define N",
    "\n#define N N * N\n",
    "\n#include \"k.cuh\"\n",
    "\n#pragma pack\n",
    "\n#undef N\n",
    "é",
    "\"",
    "9999999999999999999",
    ".version 8.0",
    ".visible .entry",
    ".param .u64",
    ".align 8 .b8",
    ".maxntid",
    ".const",
    ".reqnctapercluster",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_source_is_read(words in prop::collection::vec(prop::sample::select(WORDS), 0..60), split in 0usize..60) {
        let kernel = "struct P { float a[N]; }; extern \"C\" __global__ void k(P p, const P* x);";
        let split = split.min(words.len());
        let source = format!("{}\n{kernel}\n{}", words[..split].join(" "), words[split..].join(" "));
        let declarations = "safe fn k(p: P, x: &[P], #[symbol] w: &[f32]); \
            #[instantiate(\"k<float, 4>\")] #[cluster(2)] safe fn f(n: u32);";
        for name in ["k.cu", "k.ptx"] {
            let text = if name == "k.ptx" { format!(".version 8.0\n{source}") } else { source.clone() };
            let files: &[(&str, &[u8])] = &[(name, text.as_bytes()), ("k.cuh", source.as_bytes())];
            errors_and_rest(declare_in(&format!("{name:?}"), declarations, files));
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for name in ["k.cu", "k.ptx", "k.cubin", "k.fatbin"] {
            errors_and_rest(declare_in(&format!("{name:?}"), "safe fn k(p: P);", &[(name, &bytes)]));
        }
    }
}
