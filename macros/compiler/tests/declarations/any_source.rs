//! `#[kernels]`: random words and bytes for sources, which are read without a panic.

use crate::declared;

use declared::{declare_in, errors_and_rest};
use proptest::prelude::*;

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
