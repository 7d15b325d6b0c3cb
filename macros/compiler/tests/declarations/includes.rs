//! `#[kernels]`: how `#include` may be written, and included files that are nowhere.

use crate::declared;

use declared::{assert_declared, assert_errors, declare_in, dense, errors_and_rest};

const KERNEL: &str = "extern \"C\" __global__ void k(N n) {}";

/// The expansion of a source that needs the file that `include` includes.
fn included(include: &str) -> String {
    let source = format!("{include}\n{KERNEL}");
    let files: &[(&str, &[u8])] = &[("k.cu", source.as_bytes()), ("h/n.cuh", b"typedef int N;\n")];
    let expanded = declare_in("\"k.cu\", include(\"h\")", "safe fn k(n: u32);", files);
    let (errors, _) = errors_and_rest(expanded);
    errors.join("\n")
}

#[test]
fn an_include_may_be_written_in_many_ways() {
    for include in [
        "#include <n.cuh>",
        "#include \"h/n.cuh\"",
        "#inc\\\nlude <n.cuh>",
        "#include \\\n<n.cuh>",
        "#include <n.\\\r\ncuh>",
        "# /* the numbers */ include /* of k */ <n.cuh>",
        "%:include <n.cuh>",
        "/* here */ %: include <n.cuh>",
    ] {
        let found = included(include);
        assert!(found.starts_with("[TW0405]") && !found.contains("neither"), "{include}: {found}");
    }
    // This is in a comment.
    for comment in ["// as in \\\n#include <n.cuh>", "/\\\n/ #include <n.cuh>"] {
        assert!(
            included(comment).contains("neither k.cu nor a file that it includes defines `N`"),
            "{comment}"
        );
    }
}

#[test]
fn joined_lines_are_read_as_one() {
    let source = "#define TI\\\nLE 16\nextern \"C\" __glo\\\nbal__ void __launch_bounds__(TI\\\r\nLE) sca\\\nle(flo\\\nat a);\n\
                  // a comment \\\n__global__ void not_this(int n);\nint \\";
    assert_declared(
        "safe fn scale(a: f64); safe fn scael();",
        source,
        &[
            "[TW0405]: kernel `scale` does not match k.cu: parameter 1 is `f64`, but the source has `float`\n\
             note: k.cu:3\nhelp: declare it `f32`",
            "[TW0402]: cannot find kernel `scael` in k.cu\nhelp: a kernel with a similar name exists: `scale`",
        ],
    );
    let text = dense(declared::declare("safe fn scale(a: f32);", source));
    assert!(text.contains(".launch_bounds(16u32)"), "{text}");
    // Lines are counted as the file has them.
    let source = "#define A 1 \\\n+ 2\n\nextern \"C\" __global__ void k(int n);";
    let error = "[TW0405]: kernel `k` does not match k.cu: parameter 1 is `u32`, but the source has `int`\n\
                 note: k.cu:4\nhelp: declare it `i32`";
    assert_declared("safe fn k(n: u32);", source, &[error]);
}

/// The folder where a program runs has no such file, so whether there is one is embedded too.
#[test]
fn what_is_asked_for_is_embedded() {
    let files: &[(&str, &[u8])] = &[
        (
            "k.cu",
            b"#if defined(__has_include) && __has_include(\"config.cuh\") && !__has_include ( <h.cuh> )\n#endif\n\
              extern \"C\" __global__ void k(int n) {}",
        ),
        ("config.cuh", b"// nothing\n"),
    ];
    let text = dense(declare_in("\"k.cu\"", "safe fn k(n: i32);", files));
    assert!(text.contains("include_str!(\"config.cuh\")") && !text.contains("\"h.cuh\""), "{text}");
}

/// Expects no error, or that `missing.cuh` is nowhere, for a source that has `text` before its kernel.
#[track_caller]
fn assert_missing(text: &str, found: Option<(&str, &str)>) {
    let source = format!("{text}\nextern \"C\" __global__ void k(int n) {{}}");
    let files: &[(&str, &[u8])] = &[
        ("cu/k.cu", source.as_bytes()),
        (
            "cu/guarded.cuh",
            b"/* ours */\n#pragma once\n#ifndef G\n#define G\n#include \"missing.cuh\"\n#endif\n",
        ),
        ("h/once.cuh", b"#if !defined(O)\n#define O\n#include \"missing.cuh\"\n#endif\n"),
    ];
    let expanded = declare_in("\"cu/k.cu\", include(\"h\")", "safe fn k(n: i32);", files);
    let expected = found.map(|(place, looked)| {
        let from = place.split(':').next().unwrap();
        format!(
            "[TW0421]: cannot find `missing.cuh`, which {from} includes\nnote: {place}\n\
             note: searched the folder of {from}, `h`: there is no {looked}\n\
             help: give its folder, `include(\"…\")`, or write `#include <missing.cuh>` if it comes with CUDA"
        )
    });
    let expected: Vec<_> = expected.iter().map(String::as_str).collect();
    assert_errors(expanded, &expected);
}

#[test]
fn what_is_included_but_nowhere_is_an_error() {
    let beside = "cu/missing.cuh, h/missing.cuh";
    for (text, place, looked) in [
        ("#include \"missing.cuh\"", "cu/k.cu:1", beside),
        ("#include \"guarded.cuh\"\n#include \"missing.cuh\"", "cu/guarded.cuh:5", beside),
        ("\n#if 1\n#endif\n#include \"missing.cuh\"", "cu/k.cu:4", beside),
        ("#include \"once.cuh\"", "h/once.cuh:3", "h/missing.cuh"),
    ] {
        assert_missing(text, Some((place, looked)));
    }
}

/// NVRTC may find it, or need not.
#[test]
fn what_may_be_there_is_left_to_nvrtc() {
    for text in [
        "#include <missing.cuh>",
        "#include \"cuda_fp16.h\"\n#include \"cooperative_groups/reduce.h\"\n#include \"cassert\"\n#include \"stdint.h\"",
        "#ifdef A\n#include \"missing.cuh\"\n#endif",
        "#if A\n#elif B\n#include \"missing.cuh\"\n#endif",
        "#ifndef A\n#include \"missing.cuh\"\n#endif",
        "#ifndef A\n#define A\n#else\n#include \"missing.cuh\"\n#endif",
        "int x;\n#ifndef A\n#define A\n#include \"missing.cuh\"\n#endif",
        "#if __has_include(\"missing.cuh\")\n#include \"missing.cuh\"\n#endif",
        "#ifdef A\n#include \"guarded.cuh\"\n#endif",
        "// #include \"missing.cuh\"",
    ] {
        assert_missing(text, None);
    }
}
