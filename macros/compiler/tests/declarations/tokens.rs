//! `#[kernels]` on arbitrary tokens: it never panics, and what it expands to is Rust.

use std::str::FromStr;

use proc_macro2::TokenStream;
use proptest::prelude::*;
use thalweg_compiler::kernels::{LitStr, expand};

const SOURCE: &str = "extern \"C\" __global__ void __launch_bounds__(256) \
    saxpy(unsigned int n, float a, const float* x, float* y) {} __constant__ float weights[25]; \
    template <typename T, int N> __global__ void reduce(const T* x) {}";

const WORDS: &[&str] = &[
    "unsafe",
    "extern",
    "\"CUDA\"",
    "\"C\"",
    "safe",
    "fn",
    "pub",
    "pub(crate)",
    "saxpy",
    "k",
    "r#type",
    "self",
    "crate",
    "Out",
    "n",
    "x",
    ":",
    "::",
    ",",
    ";",
    "&",
    "mut",
    "*",
    "const",
    "u32",
    "f32",
    "[f32]",
    "[f32; 4]",
    "Out<[f32]>",
    "<",
    ">",
    "<T>",
    "->",
    "=",
    "_",
    "...",
    "'a",
    "()",
    "(n: u32)",
    "(x: &[f32], y: &mut [f32])",
    "{}",
    "{ safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]); }",
    "#[host(f)]",
    "#[requires(n > 0)]",
    "#[requires]",
    "#[host = 1]",
    "/// docs\n",
    "#![inner]",
    "static",
    "type",
    "where",
    "impl",
    "dyn",
    "4",
    "1.5",
    "async",
    "!",
    "?",
    "#",
    "$",
    "|",
    "macro_rules",
    "include",
    "options",
    "(\"include\", \"../x\")",
    "(\"-DTILE=16\", \"--use_fast_math\")",
    "(\"-I include\")",
    "#[instantiate(\"reduce<float, 256>\")]",
    "#[instantiate(\"math::reduce\")]",
    "#[instantiate(\"<\")]",
    "#[instantiate]",
    "#[cluster(2, 1)]",
    "#[cluster(0)]",
    "#[cluster(99999999999)]",
    "#[cooperative]",
    "#[cooperative(1)]",
    "#[symbol]",
    "#[symbol(\"weights\")]",
    "#[symbol(\"a b\")]",
    "(#[symbol] weights: &[f32], n: u32)",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..24).prop_map(|words| words.join(" "))
}

fn check(attr: &str, item: &str) {
    let (Ok(attr), Ok(item)) = (TokenStream::from_str(attr), TokenStream::from_str(item)) else {
        return;
    };
    let expanded = expand(attr, item, &|_: &LitStr| Ok(SOURCE.as_bytes().to_vec()));
    let text = expanded.to_string();
    syn::parse2::<syn::File>(expanded).unwrap_or_else(|error| panic!("{error} in {text}"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn attributes(attr in soup()) {
        check(&attr, "unsafe extern \"CUDA\" { safe fn k(); }");
        check(&format!("\"k.cu\", {attr}"), "unsafe extern \"CUDA\" { safe fn k(); }");
    }

    #[test]
    fn items(item in soup()) {
        check("\"k.cu\"", &item);
    }

    #[test]
    fn blocks(inside in soup()) {
        check("\"k.cu\"", &format!("unsafe extern \"CUDA\" {{ {inside} }}"));
    }

    #[test]
    fn parameters(inside in soup(), more in soup()) {
        check("\"k.cu\"", &format!("unsafe extern \"CUDA\" {{ safe fn saxpy({inside}); {more} ; safe fn k(); }}"));
    }

    #[test]
    fn requirements(inside in soup()) {
        check(
            "\"k.cu\"",
            &format!("unsafe extern \"CUDA\" {{ #[requires({inside})] #[host({inside})] safe fn saxpy(n: u32); }}"),
        );
    }

    #[test]
    fn any_text(attr in any::<String>(), item in any::<String>()) {
        check(&attr, &item);
    }

    /// A sound declaration with a few of its tokens dropped, doubled or replaced.
    #[test]
    fn edits(edits in prop::collection::vec((0usize..60, 0usize..3, prop::sample::select(WORDS)), 1..4)) {
        let mut words: Vec<&str> = "unsafe extern \"CUDA\" { /// docs\n #[host(f)] #[requires(n as usize <= x.len())] \
            pub safe fn saxpy ( n : u32 , a : f32 , x : & [ f32 ] , y : & mut [ f32 ] ) ; \
            safe fn fill ( y : Out < [ f32 ] > ) ; }".split(' ').collect();
        for (at, edit, word) in edits {
            let at = at % words.len();
            match edit {
                0 if words.len() > 1 => drop(words.remove(at)),
                1 => words.insert(at, words[at]),
                _ => words[at] = word,
            }
        }
        check("\"k.cu\"", &words.join(" "));
    }
}
