use super::*;
use crate::backends::cuda::compile::compile_for;
use crate::backends::cuda::image::kernels_in;
use crate::base::kernel::Header;

const SAXPY: &str = r#"
extern "C" __global__ void saxpy(unsigned n, float a, const float* x, float* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"#;

const MODULE: KernelModule = KernelModule::cuda("saxpy.cu", SAXPY);

/// Compiles without the cache, whatever the environment says.
fn compiled(module: &KernelModule, architecture: &str) -> Result<Compiled> {
    let crate::base::kernel::KernelSource::Cuda(source) = module.source else { panic!("no source") };
    let includes = Includes::follow(module, source);
    compile(&Compiler::get(module.file)?, module, source, architecture, &includes)
}

/// The compiler's messages about a module that does not compile.
fn log(module: &KernelModule) -> String {
    let error = compiled(module, "sm_80").expect_err("it is wrong");
    let Detail::Compile { log, .. } = error.detail() else { panic!("{error}") };
    log.clone()
}

#[test]
fn a_device_that_nvrtc_knows_gets_its_own_architecture() {
    assert_eq!(choose((9, 0), &[75, 80, 86, 90, 100]), "sm_90");
}

#[test]
fn a_device_newer_than_nvrtc_gets_the_newest_ptx() {
    assert_eq!(choose((10, 3), &[75, 80, 90, 100]), "compute_100");
    assert_eq!(choose((9, 0), &[75, 80, 86]), "compute_86");
}

#[test]
fn a_device_older_than_nvrtc_is_of_an_architecture_that_it_does_not_know() {
    assert_eq!(choose((7, 0), &[75, 80]), "sm_70");
    assert!(!is_architecture("sm_70", &[75, 80]));
    assert_eq!(choose((7, 0), &[]), "sm_70");
}

#[test]
fn an_architecture_is_one_that_nvrtc_lists() {
    let known = [75, 90, 100];
    for name in ["sm_75", "compute_75", "sm_90a", "sm_100f", "compute_100a"] {
        assert!(is_architecture(name, &known), "{name}");
    }
    for name in
        ["sm75", "sm_80", "75", "sm_", "", "sm_90b", "sm_+75", "sm_ 75", "SM_75", "sm_90aa", "sm_99999999999"]
    {
        assert!(!is_architecture(name, &known), "{name}");
    }
    let said = unknown("k.cu", "sm90", vec![100, 75, 90]).to_string();
    assert_eq!(
        said,
        "`k.cu` cannot be compiled for `sm90`, which this NVRTC does not know: is it `sm_90`?\n  \
         note: an architecture is `sm_` and a GPU's compute capability: `sm_80` for 8.0\n  \
         note: it knows sm_75, sm_90, sm_100"
    );
    let said = unknown("k.cu", "sm_50", vec![75]).to_string();
    assert!(
        said.starts_with("`k.cu` cannot be compiled for `sm_50`, which this NVRTC does not know\n"),
        "{said}"
    );
}

/// A bad architecture is not an error of the source.
#[test]
#[ignore = "needs NVRTC"]
fn what_nvrtc_does_not_know_is_an_error_of_the_architecture() {
    for name in ["sm80", "sm_50", "sm_80a", "8.0", ""] {
        let error = compiled(&MODULE, name).expect_err(name);
        let Detail::Architecture { file: "saxpy.cu", architecture, supported } = error.detail() else {
            panic!("{error}")
        };
        assert_eq!(architecture, name);
        assert!(supported.contains(&"sm_80".to_owned()), "{error}");
        assert!(error.to_string().lines().all(|line| line.len() <= 100), "{error}");
    }
    let error = compile_for(&MODULE, "sm80").expect_err("it is none");
    assert!(error.to_string().contains("is it `sm_80`?"), "{error}");
}

/// Names that C defines in headers need these headers, and the error names them.
#[test]
fn what_headers_define_is_told_by_its_header() {
    let log = "k.cu(1): error: identifier \"INFINITY\" is undefined\nk.cu(2): error: identifier \"NAN\" is undefined\n\
               k.cu(3): error: identifier \"FLT_MAX\" is undefined\nk.cu(4): error: identifier \"NAN\" is undefined\n\
               k.cu(5): error: identifier \"INT_MAX\" is undefined\nk.cu(6): error: identifier \"uint32_t\" is undefined\n\
               k.cu(7): error: identifier \"mine\" is undefined\nk.cu(8): error: identifier \"UINT8_C\" is undefined";
    assert_eq!(
        language::explain(log).expect("help"),
        "help: `#include <math.h>` for `INFINITY`, `NAN`\nhelp: `#include <float.h>` for `FLT_MAX`\n\
         help: `#include <limits.h>` for `INT_MAX`\nhelp: `#include <stdint.h>` for `uint32_t`, `UINT8_C`"
    );
    assert_eq!(language::explain("k.cu(7): error: identifier \"mine\" is undefined"), None);
    assert_eq!(language::explain("k.cu(7): error: `INFINITY`, identifier \""), None);
}

#[test]
#[ignore = "needs NVRTC"]
fn an_undefined_constant_of_c_comes_with_its_header() {
    let source =
        "extern \"C\" __global__ void k(float* x) { uint32_t i = 0; x[i] = INFINITY; x[1] = FLT_MAX; }\n";
    let log = log(&KernelModule::cuda("k.cu", source));
    for help in ["<stdint.h>` for `uint32_t`", "<math.h>` for `INFINITY`", "<float.h>` for `FLT_MAX`"] {
        assert!(log.contains(&format!("\nhelp: `#include {help}")), "{log}");
    }
    let headers = "#include <stdint.h>\n#include <math.h>\n#include <float.h>\n";
    let mended: &'static str = format!("{headers}{source}").leak();
    compiled(&KernelModule::cuda("k.cu", mended), "sm_80").expect("it compiles");
}

#[test]
#[ignore = "needs NVRTC"]
fn saxpy_compiles_to_a_cubin() {
    use crate::backends::cuda::image::Image;
    for (number, architecture) in
        [(75, "sm_75"), (80, "sm_80"), (90, "sm_90"), (100, "sm_100"), (120, "sm_120")]
    {
        let image = compiled(&MODULE, architecture).expect(architecture).image;
        assert_eq!(Image::read(&image), Ok(Image::Cubin(number)));
        assert_eq!(kernels_in(&image), ["saxpy"]);
        for cut in [1, 63, 64, image.len() / 2, image.len() - 1] {
            assert!(Image::read(&image[..cut]).is_err(), "{cut} bytes of {}", image.len());
        }
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn a_virtual_architecture_gives_ptx() {
    use crate::backends::cuda::image::Image;
    let image = compiled(&MODULE, "compute_80").expect("PTX").image;
    let text = CStr::from_bytes_with_nul(&image).expect("one NUL, at the end").to_string_lossy();
    assert!(text.contains(".target sm_80") && text.contains(".entry saxpy"), "{text}");
    assert!(matches!(Image::read(&image), Ok(Image::Ptx { target: Some(80), .. })));
    assert_eq!(kernels_in(&image), ["saxpy"]);
}

#[test]
#[ignore = "needs NVRTC"]
fn nvrtc_knows_the_architectures_it_is_asked_for() {
    assert_eq!(architecture_for((8, 0), "saxpy.cu").expect("a list"), "sm_80");
    assert!(architecture_for((99, 0), "saxpy.cu").expect("a list").starts_with("compute_"));
}

#[test]
#[ignore = "needs NVRTC"]
fn errors_carry_file_and_line() {
    let source = SAXPY.replace("a * x[i]", "a * z[i]");
    let module = KernelModule::cuda("kernels/saxpy.cu", source.leak());
    let error = compiled(&module, "sm_80").expect_err("`z` is unknown");
    let Detail::Compile { file, architecture, log } = error.detail() else { panic!("{error}") };
    assert_eq!((*file, architecture.as_str()), ("kernels/saxpy.cu", "sm_80"));
    assert!(log.starts_with("kernels/saxpy.cu(4): error: "), "{log}");
}

/// The includes are relative to the including file, up and down, and in include folders.
static HEADERS: [Header; 4] = [
    Header { path: "src/beside.h", text: "#include \"../include/from_above.h\"\n" },
    Header { path: "include/from_above.h", text: "#pragma once\n#include \"detail/deep.h\"\n" },
    Header {
        path: "include/detail/deep.h",
        text: "#pragma once\n#include \"../other.h\"\n#include <other.h>\n",
    },
    Header { path: "include/other.h", text: "#pragma once\n#define VALUE 7\n" },
];

const INCLUDING: &str = "#include \"beside.h\"\n#include <detail/deep.h>\nextern \"C\" __global__ void k(int* x) { *x = VALUE; }\n";

#[test]
#[ignore = "needs NVRTC"]
fn headers_are_found_as_files_would_be() {
    let module = KernelModule::cuda("k.cu", INCLUDING).including("src/k.cu", &HEADERS, &["include"]);
    let with = compiled(&module, "compute_80").expect("it compiles").image;
    let text = String::from_utf8(with).expect("PTX");
    assert!(text.contains(" 7;"), "{text}");
    // A file that is not embedded is not found, even in the process's folder.
    let folder = std::env::current_dir().expect("a folder");
    assert!(folder.join("Cargo.toml").is_file());
    let log = log(&KernelModule::cuda("k.cu", "#include \"Cargo.toml\"\n"));
    assert!(log.starts_with("k.cu(1): catastrophic error: cannot open source file \"Cargo.toml\""), "{log}");
}

#[test]
#[ignore = "needs NVRTC"]
fn messages_name_files_as_the_user_does() {
    static BROKEN: [Header; 2] = [
        Header { path: "include/a.h", text: "#include \"b/c.h\"\n" },
        Header { path: "include/b/c.h", text: "\n__device__ int f() { return missing; }\n" },
    ];
    let source = "#include <a.h>\nextern \"C\" __global__ void k(int* x) { *x = absent; }\n";
    let module = KernelModule::cuda("../cu/k.cu", source).including("cu/k.cu", &BROKEN, &["include"]);
    let log = log(&module);
    assert!(log.starts_with("../include/b/c.h(2): error: identifier \"missing\""), "{log}");
    assert!(log.contains("\n../cu/k.cu(2): error: identifier \"absent\""), "{log}");
    assert!(log.ends_with("in the compilation of \"../cu/k.cu\".\n"), "{log}");
    assert!(!log.contains("thalweg-"), "{log}");
}

#[test]
#[ignore = "needs NVRTC"]
fn templates_are_instantiated() {
    let source = "template <class T, int N> __global__ void fill(T* x) { x[threadIdx.x] = N; }\n";
    let instances = &["fill<float, 3>", "fill<int, 4>"];
    let module = KernelModule::cuda("fill.cu", source).instances(instances);
    let compiled_ = compiled(&module, "sm_90").expect("it compiles");
    let lowered = instances.map(|instance| compiled_.lowered(instance).expect("its name").to_owned());
    let mut kernels = kernels_in(&compiled_.image);
    kernels.sort();
    let mut expected = lowered.to_vec();
    expected.sort();
    assert_eq!(kernels, expected);
    assert_ne!(lowered[0], lowered[1]);
    let log = log(&KernelModule::cuda("fill.cu", source).instances(&["fill<flot, 3>"]));
    assert!(log.contains("\"flot\" is undefined"), "{log}");
}

#[test]
#[ignore = "needs NVRTC"]
fn options_come_after_ours() {
    let source = "extern \"C\" __global__ void k(int* x) { *x = VALUE; }\n";
    let module = KernelModule::cuda("k.cu", source).options(&["-DVALUE=1", "--use_fast_math"]);
    compiled(&module, "sm_90").expect("it compiles");
    let log = log(&KernelModule::cuda("k.cu", source).options(&["--no-such-option"]));
    assert!(log.contains("unrecognized option --no-such-option"), "{log}");
    // The option is refused before anything is compiled.
    let refused = KernelModule::cuda("k.cu", source).options(&["-arch=sm_70"]);
    let error = compile_for(&refused, "sm_90").expect_err("not ours");
    assert!(matches!(error.detail(), Detail::CompileOption { option: "-arch=sm_70", .. }), "{error}");
}

/// NVRTC comes from PyPI here, and so do the headers beside it.
#[test]
#[ignore = "needs NVRTC"]
fn the_toolkits_headers_are_found_beside_nvrtc() {
    for (header, body) in [
        ("cuda_fp16.h", "*x = __half2float(__float2half(1.5f));"),
        ("cuda_bf16.h", "*x = __bfloat162float(__float2bfloat16(1.5f));"),
        ("cooperative_groups.h", "*x = cooperative_groups::this_grid().size();"),
        (
            "mma.h",
            "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> f; fill_fragment(f, 1.0f); *x = f.x[0];",
        ),
    ] {
        let source = format!("#include <{header}>\nextern \"C\" __global__ void k(float* x) {{ {body} }}\n");
        let module = KernelModule::cuda("k.cu", source.leak());
        compiled(&module, "sm_90").unwrap_or_else(|error| panic!("{header}: {error}"));
        let crate::base::kernel::KernelSource::Cuda(source) = module.source else { panic!("no source") };
        assert!(Includes::follow(&module, source).are_known(), "{header}");
    }
    let log = log(&KernelModule::cuda("k.cu", "#include <no_such_header.h>\n"));
    assert!(log.contains("note: the CUDA toolkit's headers are taken from `"), "{log}");
}

#[test]
#[ignore = "needs NVRTC"]
fn a_source_may_include_itself() {
    static BACK: [Header; 1] = [Header { path: "src/a.h", text: "#define TWICE\n#include \"k.cu\"\n" }];
    for (include, headers) in [("#define TWICE\n#include \"k.cu\"", &[][..]), ("#include \"a.h\"", &BACK)] {
        let source = format!(
            "#ifndef TWICE\n{include}\n#else\nextern \"C\" __global__ void k(int* x) {{ *x = 1; }}\n#endif\n"
        );
        let module = KernelModule::cuda("k.cu", source.leak()).including("src/k.cu", headers, &[]);
        assert_eq!(kernels_in(&compiled(&module, "sm_90").expect("it compiles").image), ["k"]);
    }
    // The lines of the source are counted as usual.
    let source =
        "#ifndef TWICE\n#define TWICE\n#include \"k.cu\"\n#else\n__device__ int x = absent;\n#endif\n";
    let log = log(&KernelModule::cuda("../k.cu", source).including("k.cu", &[], &[]));
    assert!(log.starts_with("../k.cu(5): error: identifier \"absent\""), "{log}");
}

#[test]
#[ignore = "needs NVRTC"]
fn a_byte_order_mark_and_comments_before_an_include_do_no_harm() {
    for include in ["", "#include <cuda_fp16.h>\n", "/* half */ #include <cuda_fp16.h> /* half */\n"] {
        let source = format!("\u{feff}{include}extern \"C\" __global__ void k(int* x) {{ *x = 1; }}\n");
        let module = KernelModule::cuda("k.cu", source.leak());
        compiled(&module, "sm_90").unwrap_or_else(|error| panic!("{include}: {error}"));
    }
}

/// Kernels compile with each header of C and C++ alone, and with all of them together.
#[test]
#[ignore = "needs NVRTC"]
fn headers_of_c_and_cpp_are_there() {
    let uses = [
        (
            "stdint.h",
            "*x = UINT32_MAX; uint64_t a = 1; int8_t b = 2; uintptr_t c = (uintptr_t) x; *x += a + b + c;",
        ),
        ("cstdint", "std::uint32_t a = INT16_MAX; std::int64_t b = INT64_C(3); *x = a + b;"),
        (
            "stddef.h",
            "struct S { int a, b; }; size_t a = offsetof(S, b); max_align_t c; *x = a + sizeof(c) + (x == NULL);",
        ),
        (
            "cstddef",
            "std::size_t a = 1; std::ptrdiff_t b = 2; std::nullptr_t c = nullptr; *x = a + b + (x == c);",
        ),
        (
            "limits.h",
            "*x = INT_MAX + CHAR_BIT + (LONG_MAX == INT_MIN) + (ULLONG_MAX == UINT_MAX) + SHRT_MIN;",
        ),
        (
            "climits",
            "static_assert(LLONG_MIN < INT_MIN && sizeof(LONG_MAX) == sizeof(long), \"limits\"); *x = UCHAR_MAX;",
        ),
        ("float.h", "constexpr float a = FLT_MAX; *x = a > DBL_EPSILON ? FLT_DIG : DBL_MANT_DIG;"),
        ("cfloat", "static_assert(FLT_MIN < FLT_EPSILON && DBL_MAX > FLT_MAX, \"limits\"); *x = FLT_RADIX;"),
        (
            "math.h",
            "constexpr float a = INFINITY; *x = sqrtf(a) == HUGE_VAL || isnan(NAN) ? M_PI : M_SQRT1_2;",
        ),
        (
            "cmath",
            "static_assert(sizeof(std::sqrt(1.0f)) == 4 && sizeof(std::abs(1.0)) == 8, \"overloads\"); *x = std::isnan(std::fmaxf(1.0f, 2.0f));",
        ),
        ("assert.h", "assert(*x == 1);"),
        ("cassert", "assert(*x == 1);"),
        ("stdio.h", "printf(\"%d\\n\", *x);"),
        ("cstdio", "std::printf(\"%d\\n\", *x);"),
        ("stdlib.h", "int* p = (int*) malloc(4); *p = abs(*x); free(p);"),
        ("cstdlib", "int* p = (int*) std::malloc(4); *p = std::abs(*x); std::free(p);"),
        ("string.h", "memcpy(x, x + 1, 4); memset(x, 0, 4);"),
        ("cstring", "std::memcpy(x, x + 1, sizeof(std::size_t)); std::memset(x, 0, 4);"),
        ("stdbool.h", "bool a = true; *x = a;"),
        ("cstdbool", "bool a = true; *x = a;"),
    ];
    assert_eq!(uses.len(), language::HEADERS.len());
    let all: String = uses.iter().map(|(header, _)| format!("#include <{header}>\n")).collect();
    // CUDA's own headers, before and after the others: both define names of the others.
    let cuda: String =
        ["cstdint", "climits", "cfloat", "cstddef", "cmath", "cstring", "cstdlib", "cassert", "limits"]
            .iter()
            .map(|header| format!("#include <cuda/std/{header}>\n"))
            .collect();
    let others = "#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n#include <mma.h>\n";
    let compile = |before: &str, kernels: &str, standard: &'static str| {
        let source = format!("{before}{kernels}");
        let module = KernelModule::cuda("k.cu", source.leak()).options(vec![standard].leak());
        compiled(&module, "compute_80").unwrap_or_else(|error| panic!("{standard} {before}: {error}"));
    };
    let mut kernels = String::new();
    for (at, (header, body)) in uses.into_iter().enumerate() {
        let kernel = format!("extern \"C\" __global__ void k{at}(int* x) {{ {body} }}\n");
        compile(&format!("#include <{header}>\n#include \"{header}\"\n"), &kernel, "-std=c++17");
        kernels += &kernel;
    }
    for standard in ["-std=c++14", "-std=c++17", "-std=c++20"] {
        compile(&all, &kernels, standard);
    }
    // CUDA's own headers need C++17.
    for before in [format!("{all}{cuda}{others}"), format!("{others}{cuda}{all}")] {
        compile(&before, &kernels, "-std=c++17");
    }
    let without =
        "#define NDEBUG\n#include <cassert>\nextern \"C\" __global__ void k(int* x) { assert(*x); }\n";
    let image = compiled(&KernelModule::cuda("k.cu", without), "compute_80").expect("it compiles").image;
    assert!(!String::from_utf8_lossy(&image).contains("assertfail"), "`NDEBUG` counts");
}
