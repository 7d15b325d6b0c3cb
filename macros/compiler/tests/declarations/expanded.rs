//! `#[kernels]`: the expansion of a block.

use crate::declared;

use declared::{
    FILL, SAXPY, assert_declared, assert_errors, assert_expansion, declare, errors_and_rest, expand_with,
    formatted,
};

const DECLARED: &str = r#"unsafe extern "CUDA" {
    /// `y[i] += a * x[i]` for `i < n`.
    #[host(saxpy_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);

    #[cfg(feature = "fill")]
    safe fn fill(value: f32, y: Out<[f32]>);
}"#;

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
