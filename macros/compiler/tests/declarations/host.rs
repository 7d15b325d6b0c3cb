//! `#[kernels]`: sources that NVRTC is sure to refuse, and those that only look like it.

use crate::declared;

use declared::{assert_errors, declare_in, errors_and_rest};

const KERNEL: &str = "extern \"C\" __global__ void k(int n) {}\n";

/// The errors of a source, where no other file is found.
fn said(source: &str, attr: &str) -> Vec<String> {
    errors_and_rest(declare_in(attr, "safe fn k(n: i32);", &[("k.cu", source.as_bytes())])).0
}

/// Expects that `text` is not refused, before a kernel and behind it.
#[track_caller]
fn assert_accepted(text: &str) {
    for source in [format!("{text}\n{KERNEL}"), format!("{KERNEL}{text}\n")] {
        let mut said = said(&source, "\"k.cu\"");
        // The prototype may be hidden in it.
        said.retain(|said| !said.starts_with("[TW0402]"));
        assert_eq!(said, [""; 0], "{source}");
    }
}

/// Expects an error of this fact, with these notes, for `text` before a kernel.
#[track_caller]
fn assert_refused(text: &str, fact: &str, notes: &[&str], help: &str) {
    let notes: String = notes.iter().map(|note| format!("\nnote: {note}")).collect();
    let expected = format!("{fact}{notes}\nhelp: {help}");
    assert_eq!(said(&format!("{text}\n{KERNEL}"), "\"k.cu\""), [expected], "{text}");
}

#[test]
fn a_bracket_that_is_missing_is_an_error() {
    for (text, fact, notes, help) in [
        (
            "__device__ int f() {\n  if (1) {\n  return 1;\n}",
            "a `{` of `k.cu` is never closed",
            &["k.cu:1: it opens here"][..],
            "write the `}` that is missing",
        ),
        // A kernel cannot begin in a function, so the brace to close is the function's, not that of the
        // namespace.
        (
            "namespace a {\n__device__ int f() {\n  if (1) {\n  return 1;\n}\n__global__ void g() {}\n}",
            "a `{` of `k.cu` is never closed",
            &["k.cu:2: it opens here"],
            "write the `}` that is missing",
        ),
        (
            "__device__ int f() { return 1; }\n}",
            "a `}` of `k.cu` closes nothing",
            &["k.cu:2: it stands here"],
            "remove it, or write what it closes",
        ),
        (
            "__device__ int f(int x) {\n  return f((x;\n}",
            "a `(` of `k.cu` is closed by a `}`",
            &["k.cu:2: the `(` opens here", "k.cu:3: the `}` stands here"],
            "write the `)` that is missing, or remove the `(`",
        ),
        (
            "__constant__ float w[4;\n",
            "a `[` of `k.cu` is never closed",
            &["k.cu:1: it opens here"],
            "write the `]` that is missing",
        ),
        (
            "#ifdef __cplusplus\nextern \"C\" {\n#endif\n",
            "a `{` of `k.cu` is never closed",
            &["k.cu:2: it opens here"],
            "write the `}` that is missing",
        ),
    ] {
        assert_refused(text, &format!("[TW0422]: {fact}"), notes, help);
    }
}

#[test]
fn a_bracket_that_is_missing_in_an_included_file_names_it() {
    let files: &[(&str, &[u8])] = &[
        ("k.cu", b"#include \"f.cuh\"\nextern \"C\" __global__ void k(int n) {}"),
        ("f.cuh", b"#ifndef F\n#define F\n__device__ int f() {\n  return (1);\n#endif\n"),
    ];
    let expected = "[TW0422]: a `{` of `k.cu` is never closed\nnote: f.cuh:3: it opens here\n\
                    help: write the `}` that is missing";
    assert_errors(declare_in("\"k.cu\"", "safe fn k(n: i32);", files), &[expected]);
}

/// Valid sources whose plain text is not balanced, or is balanced only without comments and strings.
#[test]
fn brackets_that_no_one_misses() {
    for text in [
        "// {\n/* ( */ __constant__ char c = '{'; __constant__ char s[] = \"}])\";",
        "__constant__ char s[] = R\"x({ )\" ( )x\";",
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n#if defined(__cplusplus)\n}\n#endif",
        "#ifdef A\n__device__ int f(int x) {\n#else\n__device__ int f() {\n#endif\nreturn 1; }",
        "__device__ int f(int x) {\n#ifdef A\n  if (x) {\n#endif\n  x++;\n#ifdef A\n  }\n#endif\nreturn x; }",
        "#if 0\n don't { ( [\n#endif",
        "#ifndef __CUDACC_RTC__\nint main() {{ {\n#endif",
        "#if A\n(\n#elif B\n)\n#else\n}\n#endif",
        "#define BEGIN {\n#define END }\n__device__ int f() BEGIN return 1; }\n",
        "#define CALL(f) f(\n__device__ int f() { return CALL(f)); }",
        "__device__ int f(int x) <% return x; %>",
        "__device__ int f() { return 1'000 + '\\''; }",
        "#error } is missing",
        // A comment of a directive goes on over lines, whatever stands before it.
        "#define APOSTROPHE '\\'' /* of\n { which */",
        "#define N 1'000 /* of\n { which */",
        "#define QUOTED \"\\\"/*\"\n__device__ int f() {\n return 1; /* */ }",
        "#define RAW R\"(\" /* )\"\n__device__ int f() {\n return 1; /* */ }",
        // A header that only NVRTC finds may define macros.
        "#include <unknown.h>\n__device__ int f() UNKNOWN_BEGIN return 1; }",
    ] {
        assert_accepted(text);
    }
    // A file may open what another closes, each time that it is included.
    let files: &[(&str, &[u8])] = &[
        (
            "k.cu",
            b"#include \"begin.inc\"\n}\n#include \"begin.inc\"\n}\nextern \"C\" __global__ void k(int n) {}",
        ),
        ("begin.inc", b"namespace a {\n"),
    ];
    assert_errors(declare_in("\"k.cu\"", "safe fn k(n: i32);", files), &[]);
}

const ELSEWHERE: &str = "put the host's code between `#ifndef __CUDACC_RTC__` and `#endif`, take the kernels into a file of their \
                         own, or give the PTX that `nvcc --ptx` makes";

#[test]
fn code_for_the_host_is_an_error() {
    const FACT: &str = "[TW0423]: `k.cu` has code for the host, which NVRTC does not compile";
    for (text, note) in [
        ("int main() { return 0; }", "k.cu:1: `main` is neither `__device__` nor `__global__`"),
        ("\nint main(int argc, char** argv) {\n}", "k.cu:2: `main` is neither `__device__` nor `__global__`"),
        ("__host__ void run(float* x) { }", "k.cu:1: `run` is `__host__` alone"),
        (
            "__device__ void run() {\n  k<<<1, 1>>>(3);\n}",
            "k.cu:2: `k<<<…>>>` is a launch, which is code for the host",
        ),
        (
            "LAUNCHER(run)\n{\n  k<<<dim3(1), dim3(1), 0, s>>>(3); k<<<1, 1>>>(4); }",
            "k.cu:3: `k<<<…>>>` is a launch, which is code for the host",
        ),
    ] {
        assert_refused(text, FACT, &[note], ELSEWHERE);
    }
    for text in [
        "static inline float half_of(float x) { return x / 2; }",
        "extern \"C\" {\nfloat half_of(float x) { return x / 2; }\n}",
        "namespace a { constexpr int half_of(int x) noexcept { return x / 2; } }",
        "template <class T> T half_of(T x) { return x / 2; }",
        "std::vector<float> half_of(const std::vector<float>& x) { return x; }",
        "float3 half_of(float3 x) { return x; }",
        "cudaError_t half_of() { return cudaMalloc(0, 4); }",
        "#ifdef __CUDACC_RTC__\nunsigned long long* half_of() { return 0; }\n#endif",
    ] {
        let line = 1 + usize::from(text.contains("\nfloat") || text.contains("\nunsigned"));
        let note = format!("k.cu:{line}: `half_of` is neither `__device__` nor `__global__`");
        let help = format!("mark the functions that kernels call `__device__`, and {ELSEWHERE}");
        assert_refused(text, FACT, &[&note], &help);
    }
    let functions: String = (0..6).map(|at| format!("void f{at}() {{ k<<<1, 1>>>(3); }}\n")).collect();
    let note = |at: usize| format!("k.cu:{}: `f{at}` is neither `__device__` nor `__global__`", at + 1);
    let help = format!("mark the functions that kernels call `__device__`, and {ELSEWHERE}");
    assert_refused(&functions, FACT, &[&note(0), &note(1), &note(2), &note(3), "and 2 more"], &help);
}

/// Code that NVRTC compiles, or that plain text does not tell.
#[test]
fn code_that_is_the_devices() {
    for text in [
        "__device__ int f();\nint f() { return 1; }",
        "int __device__ f() { return 1; }",
        "__host__ __device__ inline int f() { return 1; }",
        "#define DEVICE __device__\nDEVICE int f() { return 1; }",
        "#define FN(type) __device__ type\nFN(int) f() { return 1; }",
        "#define real __device__ float\nreal f() { return 1; }",
        "CUTLASS_DEVICE int f() { return 1; }",
        "static_device int f() { return 1; }",
        "int f() CUTLASS_DEVICE_END { return 1; }",
        "static\n#ifdef __CUDACC__\n__device__\n#endif\nint f() { return 1; }",
        "static\n#ifdef A\n__device__\n#endif\nint f() { return 1; }",
        "#ifndef __CUDACC_RTC__\n#include <iostream>\nint main() { k<<<1, 1>>>(3); }\n#endif",
        "#ifdef A\nint main() { k<<<1, 1>>>(3); }\n#endif",
        "#if 0\nint main() { k<<<1, 1>>>(3); }\n#endif",
        "#define RUN(k) k<<<1, 1>>>(3)",
        "__constant__ int a[] = {1 << 2, (3)};",
        "struct S { int a; __device__ int f() const { return a << 2; } };",
        "template <class T> __global__ void f() { k<<<1, 1>>>(3); }",
        "__device__ int S::f() { return 1; }\nfloat S::g() { return 1; }",
        "KERNEL(f, float) { x[0] = 1; }",
        "auto f() -> int;",
        "__device__ auto f = [] (int a) { return a; };",
        "enum E { A, B };\n__device__ E f() { return A; }",
        "typedef struct __align__(16) { float x, y; } Pair;",
        "typedef struct __builtin_align__(16) { float x, y; } Pair;",
        "typedef union __attribute__((packed)) { float x; char y; } Either;",
        "#define DEVICE __device__\n__host__ DEVICE int f() { return 1; }",
        "#define both __host__ __device__\n__host__ both int f() { return 1; }",
        "#define HOST_ONLY(...)\nHOST_ONLY(void run() { k<<<1, 1>>>(3); })",
        "static constexpr Far far_away(Number{1});",
        "#define DECLARE(f) __device__ int f(int x)\nDECLARE(one);\nint one(int x) { return x; }",
        "struct S { __device__ ~S(); int a; };\nS::~S() { a = 1; }",
        "#include <unknown.h>\nunknown_qualifier f() { return 1; }",
        "__device__ S operator<<(S a, S b) { return a; }\n__device__ void f() { operator<< <S>(a, b); }",
    ] {
        assert_accepted(text);
    }
    // The option defines the macro that would keep a file from being read twice.
    let text =
        format!("#ifndef NO_MAIN\n#define NO_MAIN\nint main() {{ k<<<1, 1>>>(3); }}\n#endif\n{KERNEL}");
    assert_eq!(said(&text, "\"k.cu\", options(\"-DNO_MAIN\")"), [""; 0]);
    // NVRTC compiles a launch by a kernel if the code that launches can be linked.
    let text = format!("__global__ void g() {{ k<<<1, 1>>>(3); }}\n{KERNEL}");
    for option in ["-rdc=true", "-dc", "--relocatable-device-code=true", "--device-c"] {
        assert_eq!(said(&text, &format!("\"k.cu\", options({option:?})")), [""; 0]);
    }
    let text = format!("int f() {{ return 1; }}\n{KERNEL}");
    for option in ["-default-device", "--device-as-default-execution-space"] {
        assert_eq!(said(&text, &format!("\"k.cu\", options({option:?})")), [""; 0]);
    }
}

#[test]
fn headers_that_nvrtc_does_not_have_are_an_error() {
    const FACT: &str = "[TW0424]: `k.cu` includes headers that NVRTC does not have, or cannot compile";
    let help = format!("leave it out where no kernel needs it, or {}", ELSEWHERE.replace("code", "include"));
    for (header, note) in [
        ("<iostream>", "`iostream`"),
        ("<sys/time.h>", "`sys/time.h`"),
        ("<cublas_v2.h>", "`cublas_v2.h`"),
        ("\"cudaEGL.h\"", "`cudaEGL.h`"),
        ("\"cuda_gl_interop.h\"", "`cuda_gl_interop.h`"),
        ("<cudaGL.h>", "`cudaGL.h`"),
        ("<cudaVDPAU.h>", "`cudaVDPAU.h`"),
        ("<cuda.h>", "`cuda.h`"),
        ("<limits>", "`limits`; `<cuda/std/limits>` has its parts for kernels"),
    ] {
        let note = format!("k.cu:2: {note}");
        assert_refused(&format!("\n#include {header}"), FACT, &[&note], &help);
        assert_accepted(&format!("#ifndef __CUDACC_RTC__\n#include {header}\n#endif"));
        assert_accepted(&format!("#ifdef A\n#include {header}\n#endif"));
    }
    let text = format!("#include <cuda.h>\n{KERNEL}");
    assert_eq!(said(&text, "\"k.cu\", options(\"-default-device\")"), [""; 0]);
    // An existing header is the one that is meant.
    let files: &[(&str, &[u8])] = &[
        ("k.cu", b"#include <limits>\n#include \"time.h\"\nextern \"C\" __global__ void k(int n) {}"),
        ("h/limits", b""),
        ("time.h", b""),
    ];
    assert_errors(declare_in("\"k.cu\", include(\"h\")", "safe fn k(n: i32);", files), &[]);
}

#[test]
fn headers_that_are_there() {
    for header in [
        "<stdint.h>",
        "\"stdint.h\"",
        "<stdio.h>",
        "<cmath>",
        "<cassert>",
        "<cuda_fp16.h>",
        "\"cuda_runtime.h\"",
        "<cooperative_groups.h>",
        "<cooperative_groups/reduce.h>",
        "<cuda/std/limits>",
        "<cub/block/block_reduce.cuh>",
        "<curand_kernel.h>",
        "<unknown.h>",
    ] {
        assert_accepted(&format!("#include {header}"));
    }
}
