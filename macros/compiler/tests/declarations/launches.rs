//! `#[kernels]`: instances of templates, symbols, clusters, cooperative launches and shared memory.

use crate::declared;

use declared::{assert_declared, assert_errors, assert_expansion, declare, declare_in, dense, expand_with};

const REDUCE: &str = "#include <cuda_fp16.h>\n\
    namespace math {\n\
    template <typename T, int N = 256>\n\
    __global__ void __launch_bounds__(N) reduce(unsigned n, const T* x, T* sums, int (&steps)[N]) {}\n\
    template <class... Args> __global__ void many(Args... args) {}\n\
    __global__ void plain(int n) {}\n\
    }\n\
    template <typename T, typename U = T> __global__ void convert(const T* __restrict__ x, U* y, T scale) {}\n\
    template <int N>\n__global__ void tiled(float* x) { __shared__ float tile[N]; }\n";

#[test]
fn expands_to_everything_at_once() {
    let source = "struct Params { float a; unsigned n; };\n__constant__ float weights[25];\n\
        template <typename T, int N> __global__ void __launch_bounds__(N) blur(Params p, const T* x, T* y) {}";
    let item = r#"unsafe extern "CUDA" {
        /// Blurs.
        #[instantiate("blur<float, 128>")]
        #[host(blur_on_host)]
        #[cluster(2)]
        #[cooperative]
        pub safe fn blur(p: Params, x: &[f32], y: Out<[f32]>, #[symbol("weights")] w: &[f32]);
    }"#;
    let expanded = expand_with("\"blur.cu\", options(\"-std=c++20\")", item, source);
    assert_errors(expanded.clone(), &[]);
    assert_expansion("kernels_blur.rs", expanded);
}

#[test]
fn instances_that_fit() {
    let source = format!("struct Unknown;\n{}", REDUCE.replace(", int (&steps)[N]", ""));
    for (declaration, bounds) in [
        (
            "#[instantiate(\"math::reduce<float>\")] safe fn f(n: u32, x: &[f32], sums: Out<[f32]>);",
            Some(256),
        ),
        (
            "#[instantiate(\"::math::reduce<double, 2 * 64>\")] safe fn f(n: u32, x: &[f64], sums: Out<[f64]>);",
            Some(128),
        ),
        (
            "#[instantiate(\"math::reduce<unsigned long long, (4 > 2)>\")] safe fn f(n: u32, x: &[u64], sums: Out<[u64]>);",
            None,
        ),
        ("#[instantiate(\"math::reduce<Unknown>\")] safe fn f(n: u32, x: &[A], sums: Out<[B]>);", Some(256)),
        ("#[instantiate(\"math::many<int, float>\")] safe fn f(n: i32, x: f32);", None),
        ("#[instantiate(\"math::plain\")] safe fn f(n: i32);", None),
        ("#[instantiate(\"convert<float>\")] safe fn f(x: &[f32], y: &mut [f32], scale: f32);", None),
        (
            "#[instantiate(\"convert<__half, float>\")] safe fn f(x: &[half::f16], y: &mut [f32], scale: half::f16);",
            None,
        ),
        ("#[instantiate(\"tiled<16>\")] safe fn f(x: &mut [f32]);", None),
    ] {
        let expanded = declare(declaration, &source);
        assert_errors(expanded.clone(), &[]);
        let text = dense(expanded);
        assert!(
            text.contains(".instances(&[\"") && text.contains("KernelInfo::new(\"f\",&MODULE).instance(\""),
            "{text}"
        );
        let found = text.split(".launch_bounds(").nth(1).and_then(|rest| rest.split("u32").next());
        assert_eq!(found, bounds.map(|threads: u32| threads.to_string()).as_deref(), "{declaration}");
    }
}

#[test]
fn instances_that_do_not_fit() {
    let source = REDUCE;
    for (declaration, expected) in [
        (
            "#[instantiate(\"math::reduec<float>\")] safe fn f();",
            "[TW0402]: cannot find kernel `math::reduec` in k.cu\n\
             help: a kernel with a similar name exists: `math::reduce`",
        ),
        (
            "#[instantiate(\"reduce<float>\")] safe fn f();",
            "[TW0402]: cannot find kernel `reduce` in k.cu\nhelp: the source has it as `math::reduce`",
        ),
        (
            "#[instantiate(\"sum\")] safe fn f();",
            "[TW0402]: cannot find kernel `sum` in k.cu\n\
             note: its kernels are `math::reduce`, `math::many`, `math::plain`, `convert`, `tiled`\n\
             help: add `sum` to it",
        ),
        (
            "#[instantiate(\"math::reduce<float, 4, 4>\")] safe fn f();",
            "[TW0420]: `math::reduce<float, 4, 4>` is not an instance of `math::reduce`\n\
             note: k.cu:4\n\
             note: the template has 2 parameters, and 3 are given\n\
             help: write `math::reduce<T, N>`",
        ),
        (
            "#[instantiate(\"math::reduce\")] safe fn f();",
            "[TW0420]: `math::reduce` is not an instance of `math::reduce`\n\
             note: k.cu:4\n\
             note: the template has 2 parameters, and 0 are given\n\
             help: write `math::reduce<T, N>`",
        ),
        (
            "#[instantiate(\"tiled\")] safe fn f();",
            "[TW0420]: `tiled` is not an instance of `tiled`\n\
             note: k.cu:10\n\
             note: it is a template, and no arguments are given\n\
             help: write `tiled<N>`",
        ),
        (
            "#[instantiate(\"math::plain<4>\")] safe fn f();",
            "[TW0420]: `math::plain<4>` is not an instance of `math::plain`\n\
             note: k.cu:6\n\
             note: it is not a template\n\
             help: write `math::plain`",
        ),
        (
            "#[instantiate(\"convert<float, double>\")] safe fn f(x: &[f32], y: &mut [f32], scale: f32);",
            "[TW0405]: kernel `convert` does not match k.cu: parameter 2 is `&mut [f32]`, but the source has `double*`\n\
             note: k.cu:8\nhelp: declare it `&mut [f64]`",
        ),
        (
            "#[instantiate(\"convert<float>\")] safe fn f(x: &[f32]);",
            "[TW0404]: kernel `convert` does not match k.cu: it has 1 parameter, but the source has 3\n\
             note: k.cu:8\nhelp: declare it `safe fn f(x: &[f32], y: &mut [f32], scale: f32)`",
        ),
        (
            "safe fn convert(x: &[f32]);",
            "[TW0403]: kernel `convert` in k.cu is a template\n\
             note: k.cu:8\n\
             note: C++ mangles the names of its instances, so that the driver cannot find them\n\
             help: name the instance: `#[instantiate(\"convert<…>\")]`",
        ),
    ] {
        assert_declared(declaration, source, &[expected]);
    }
}

#[test]
fn instances_share_a_source() {
    let text = dense(declare(
        "#[instantiate(\"tiled<16>\")] safe fn a(x: &mut [f32]); #[instantiate(\"tiled<32>\")] safe fn b(x: &mut [f32]); \
         #[instantiate(\"tiled<16>\")] safe fn c(x: &mut [f32]);",
        REDUCE,
    ));
    assert!(text.contains(".instances(&[\"tiled<16>\",\"tiled<32>\"])"), "{text}");
}

#[test]
fn a_source_may_use_namespaces() {
    let source = format!("{REDUCE}\nusing namespace math;");
    assert_declared("#[instantiate(\"plain\")] safe fn f(n: i32);", &source, &[]);
}

#[test]
fn attributes() {
    let name = "note: it names one instance of a template, as C++ would call it\nhelp: write `#[instantiate(\"k<float>\")]`";
    let size = "note: a cluster has one to three dimensions, in blocks\nhelp: write `#[cluster(2)]`, or `#[cluster(2, 1, 1)]`";
    let limit =
        "note: a cluster has at most 8 blocks, or 16 where the GPU allows for that\nhelp: make it smaller";
    let symbol = "[TW0412]: `#[symbol]` takes one name in quotes, or none\n\
        note: it names a `__constant__` or `__device__` variable of the source\n\
        help: write `#[symbol]` or `#[symbol(\"w\")]`";
    for (declaration, expected) in [
        ("#[instantiate] safe fn k();", format!("[TW0412]: `#[instantiate]` needs a name expression in quotes\n{name}")),
        ("#[instantiate(k<float>)] safe fn k();", format!("[TW0412]: `#[instantiate]` needs a name expression in quotes\n{name}")),
        ("#[instantiate(\"k<float\")] safe fn k();", format!("[TW0412]: `k<float` is not a name expression\n{name}")),
        ("#[instantiate(\"\")] safe fn k();", format!("[TW0412]: `` is not a name expression\n{name}")),
        ("#[instantiate(\"k<float,>\")] safe fn k();", format!("[TW0412]: `k<float,>` is not a name expression\n{name}")),
        ("#[instantiate(\"k<1>; int x\")] safe fn k();", format!("[TW0412]: `k<1>; int x` is not a name expression\n{name}")),
        ("#[instantiate(\"k\")] #[instantiate(\"k\")] safe fn k();", "[TW0412]: kernel `k` has two instances\nhelp: remove one of them".to_owned()),
        ("#[cluster] safe fn k();", format!("[TW0412]: `#[cluster]` needs its size in numbers\n{size}")),
        ("#[cluster(0)] safe fn k();", format!("[TW0412]: `#[cluster]` needs its size in numbers\n{size}")),
        ("#[cluster(1, 1, 1, 1)] safe fn k();", format!("[TW0412]: `#[cluster]` needs its size in numbers\n{size}")),
        ("#[cluster(N)] safe fn k();", format!("[TW0412]: `#[cluster]` needs its size in numbers\n{size}")),
        ("#[cluster(4, 8)] safe fn k();", format!("[TW0412]: a cluster of 32 blocks is too large\n{limit}")),
        ("#[cluster(4294967295, 4294967295)] safe fn k();", format!("[TW0412]: the cluster is too large\n{limit}")),
        ("#[cluster(2)] #[cluster(2)] safe fn k();", "[TW0412]: kernel `k` has two cluster sizes\nhelp: remove one of them".to_owned()),
        ("#[cooperative(true)] safe fn k();", "[TW0412]: `#[cooperative]` takes nothing\nnote: all blocks of the grid are on the device at once\nhelp: write `#[cooperative]`".to_owned()),
        ("#[cooperative] #[cooperative] safe fn k();", "[TW0412]: kernel `k` has two times `#[cooperative]`\nhelp: remove one of them".to_owned()),
        ("safe fn k(#[symbol = \"a\"] w: &[f32]);", symbol.to_owned()),
        ("safe fn k(#[symbol(w)] w: &[f32]);", symbol.to_owned()),
        ("safe fn k(#[symbol(\"a.b\")] w: &[f32]);", symbol.to_owned()),
        ("safe fn k(#[symbol] #[symbol(\"v\")] w: &[f32]);", "[TW0412]: parameter `w` stands for two symbols\nhelp: remove one of them".to_owned()),
        ("safe fn k(#[symbol] w: f32);", "[TW0412]: parameter `w` cannot stand for a symbol\nnote: a launch copies a buffer to the variable, which kernels then read\nhelp: declare it `&[T]`".to_owned()),
        ("safe fn k(#[symbol] w: &mut [f32]);", "[TW0412]: parameter `w` cannot stand for a symbol\nnote: a launch copies a buffer to the variable, which kernels then read\nhelp: declare it `&[T]`".to_owned()),
        ("safe fn k(#[symbol] w: &[f32], #[symbol(\"w\")] v: &[f32]);", "[TW0411]: two parameters stand for the symbol `w`\nnote: the other is `w`\nhelp: name another variable of the source".to_owned()),
    ] {
        let source = "__constant__ float w[4], v[4];\nextern \"C\" __global__ void k();";
        assert_declared(declaration, source, &[&expected]);
    }
    assert_errors(
        declare_in(
            "\"k.ptx\"",
            "#[instantiate(\"k<float>\")] safe fn k();",
            &[("k.ptx", b".version 8.0\n.entry k() {}")],
        ),
        &["[TW0412]: `#[instantiate]` does not apply to a compiled source\n\
           note: its templates have been instantiated, and C++ has changed their names\n\
           help: remove it, and declare the kernel by the name that the source has"],
    );
}

#[test]
fn symbols() {
    let source = "#define N 5\n\
        struct Tap { int at; float weight; };\n\
        __constant__ float weights[N * N];\n\
        __device__ unsigned int counter = 0;\n\
        const __constant__ int folded[2] = {1, 2};\n\
        namespace inner { __constant__ int deep[2]; }\n\
        extern \"C\" { __constant__ double c_names[4] = {1, 2}; }\n\
        __device__ __constant__ Tap taps[4], more;\n\
        namespace { __constant__ int nameless[2]; }\n\
        static __constant__ int inside[2];\n\
        __device__ float helper(float x) { __shared__ float s[4]; return x; }\n\
        extern \"C\" __global__ void k(unsigned n, float* y) {}\n";
    assert_declared(
        "safe fn k(n: u32, #[symbol] weights: &[f32], y: &mut [f32], #[symbol(\"counter\")] c: &[u32], \
         #[symbol] c_names: &[f64], #[symbol] taps: &[Tap], #[symbol] more: &[Tap], #[symbol] inside: &[i32]);",
        source,
        &[],
    );
    let text = dense(declare(
        "#[requires(weights.len() == 25)] safe fn k(n: u32, #[symbol] weights: &[f32], y: &mut [f32]);",
        source,
    ));
    let sizes =
        ".parameters(&[4,8]).symbols(&[\"weights\"]).symbol_bytes(&[::core::option::Option::Some(100)])";
    assert!(text.contains(sizes), "{text}");
    let lent = "(&[(&weights).access(),(&y).access()],&[lender_1,lender_2]),&[(&weights).access()],&host";
    assert!(text.contains(lent), "{text}");
    for (symbol, expected) in [
        (
            "wieghts: &[f32]",
            "[TW0415]: cannot find variable `wieghts` in k.cu\nhelp: a variable with a similar name exists: `weights`",
        ),
        (
            "table: &[f32]",
            "[TW0415]: cannot find variable `table` in k.cu\n\
             note: its variables are `weights`, `counter`, `folded`, `deep`, `c_names`, `taps`, `more`, `nameless`, …\n\
             help: add `__constant__ float table[…];` to it, or remove `#[symbol]`",
        ),
        (
            "helper: &[f32]",
            "[TW0415]: cannot find variable `helper` in k.cu\n\
             note: its variables are `weights`, `counter`, `folded`, `deep`, `c_names`, `taps`, `more`, `nameless`, …\n\
             help: add `__constant__ float helper[…];` to it, or remove `#[symbol]`",
        ),
        (
            "folded: &[i32]",
            "[TW0415]: variable `folded` of k.cu cannot be changed\n\
             note: k.cu:5\n\
             note: the compiler puts the value of a `const` into the code\n\
             help: remove `const`",
        ),
        (
            "deep: &[i32]",
            "[TW0415]: variable `deep` of k.cu cannot be found by its name\n\
             note: k.cu:6\n\
             note: C++ mangles names in a namespace\n\
             help: declare it outside of namespaces",
        ),
        (
            "nameless: &[i32]",
            "[TW0415]: variable `nameless` of k.cu cannot be found by its name\n\
             note: k.cu:9\n\
             note: C++ mangles names in a namespace\n\
             help: declare it outside of namespaces",
        ),
        (
            "weights: &[f64]",
            "[TW0416]: symbol `weights` does not match k.cu: it is `&[f64]`, but the source has `float[25]`\n\
             note: k.cu:3\nhelp: declare it `&[f32]`",
        ),
        (
            "taps: &[u32]",
            "[TW0416]: symbol `taps` does not match k.cu: it is `&[u32]`, but the source has `Tap[4]`\n\
             note: k.cu:8\nnote: `Tap` has 8 bytes\nhelp: declare it `&[Tap]`",
        ),
    ] {
        assert_declared(
            &format!("safe fn k(n: u32, y: &mut [f32], #[symbol] {symbol});"),
            source,
            &[expected],
        );
    }
    assert_declared(
        "safe fn k(n: u32, #[symbol] w: &[f32]);",
        "extern \"C\" __global__ void k(unsigned n, const float* w, float* y);",
        &[
            "[TW0415]: cannot find variable `w` in k.cu\n\
             note: it has no `__constant__` or `__device__` variable\n\
             help: add `__constant__ float w[…];` to it, or remove `#[symbol]`",
            "[TW0404]: kernel `k` does not match k.cu: it has 1 parameter, but the source has 3\n\
             note: k.cu:1\n\
             help: declare it `safe fn k(n: u32, w: &[f32], y: &mut [f32], #[symbol] w: &[f32])`",
        ],
    );
}

#[test]
fn a_variable_hides_no_parameter() {
    assert_declared(
        "safe fn k(weights: &[f32]);",
        "__constant__ double weights[4];\nextern \"C\" __global__ void k(const float* weights);",
        &[],
    );
}

#[test]
fn clusters() {
    for (source, declared, emitted) in [
        ("__global__ void k()", "#[cluster(2)]", Some("[2u32,1u32,1u32]")),
        ("__global__ void k()", "#[cluster(2, 2, 1)] #[cooperative]", Some("[2u32,2u32,1u32]")),
        ("__global__ void k()", "", None),
        ("__global__ void __cluster_dims__(2, 1, 1) k()", "", None),
        ("__global__ void __cluster_dims__(2, 1, 1) k()", "#[cluster(2)]", None),
        ("__cluster_dims__(2) __global__ void __launch_bounds__(256, 1, 2) k()", "#[cluster(2, 1)]", None),
        ("__global__ void __block_size__((256, 1, 1), (2, 1, 1)) k()", "#[cluster(2)]", None),
        ("__global__ void __maxnreg__(64) k()", "#[cluster(4)]", Some("[4u32,1u32,1u32]")),
    ] {
        let expanded = declare(&format!("{declared} safe fn k();"), &format!("extern \"C\" {source} {{}}"));
        assert_errors(expanded.clone(), &[]);
        let text = dense(expanded);
        let found = text.split(".cluster(").nth(1).and_then(|rest| rest.split(')').next());
        assert_eq!(found, emitted, "{source} {declared}: {text}");
    }
    assert_declared(
        "#[cluster(4)] safe fn k();",
        "#define C 2\nextern \"C\" __global__ void __cluster_dims__(C, C) k() {}",
        &["[TW0418]: kernel `k` is launched in clusters of (4), but k.cu has (2, 2)\n\
           note: k.cu:2\n\
           note: a launch cannot change what is compiled in\n\
           help: remove `#[cluster]`: the source says enough"],
    );
}

#[test]
fn shared_memory_of_a_fixed_size() {
    let declare_k =
        |body: &str| format!("constexpr int T = 128;\nextern \"C\" __global__ void k() {{\n{body}\n}}");
    for body in [
        "extern __shared__ float dynamic[];",
        "__shared__ float tile[96][T];",
        "__shared__ float tile[UNKNOWN][T];",
        "__shared__ float one; __shared__ Unknown u[99999];",
        "float local[99999];",
    ] {
        assert_declared("safe fn k();", &declare_k(body), &[]);
    }
    assert_declared(
        "safe fn k();",
        &declare_k("__shared__ int a, tile[T][T];"),
        &["[TW0419]: `tile` in kernel `k` of k.cu has 65536 bytes of shared memory\n\
           note: k.cu:3\n\
           note: an array of a fixed size has at most 49152\n\
           help: declare it `extern __shared__`, without a size, and launch with `<<<grid, block, 65536>>>`"],
    );
}

#[test]
fn declarations_between_kernels_do_not_mislead() {
    let source = "template <int N = 4> __device__ int f(int n) { return n == N ? 1 : 0; }\n\
        __device__ bool operator==(float2 a, float2 b) { return a.x == b.x; }\n\
        int table[] = { 1, 2, 3 };\n\
        auto g = [](int n) { return n; };\n\
        struct S { static const int K = 4; __device__ S() : a(0) {} int a; };\n\
        enum { A = 1, B };\n\
        __constant__ int w[] = { 1, 2 };\n\
        extern \"C\" __global__ void k(S s);\n";
    assert_declared("safe fn k(s: S, #[symbol] w: &[i32]);", source, &[]);
    assert!(dense(declare("safe fn k(s: S);", source)).contains("same_layout::<S>(&[(4,"));
}

/// The bytes that a launch may give for `v`, as the source has it.
#[test]
fn sizes_of_symbols() {
    for (definition, ty, bytes) in [
        ("__constant__ float v[2][3];", "f32", Some(24)),
        ("__device__ double v;", "f64", Some(8)),
        ("struct S { int a; double b; }; __constant__ S v[2], w[3];", "S", Some(32)),
        ("#define N 4\nconstexpr int M = N + 1;\n__constant__ short v[N * M];", "i16", Some(40)),
        ("__constant__ float4 v[8];", "[f32; 4]", Some(128)),
        ("typedef float Row[8]; __constant__ Row v[2];", "f32", Some(64)),
        // The source does not tell.
        ("__constant__ float v[] = {1, 2};", "f32", None),
        ("__constant__ float v[COUNT];", "f32", None),
        ("#if A\n__constant__ float v[2];\n#else\n__constant__ float v[3];\n#endif", "f32", None),
    ] {
        let source = format!("{definition}\nextern \"C\" __global__ void k() {{}}");
        let expanded = declare(&format!("safe fn k(#[symbol] v: &[{ty}]);"), &source);
        assert_errors(expanded.clone(), &[]);
        let said = bytes.map(|bytes| format!(".symbol_bytes(&[::core::option::Option::Some({bytes})])"));
        let text = dense(expanded);
        let found = text.find(".symbol_bytes(").map(|at| text[at..].split(';').next().unwrap());
        assert_eq!(found, said.as_deref(), "{definition}");
    }
    let source = "__constant__ int a[2]; __constant__ int b[N];\nextern \"C\" __global__ void k() {}";
    let text = dense(declare("safe fn k(#[symbol] b: &[i32], #[symbol] a: &[i32]);", source));
    assert!(
        text.contains(".symbol_bytes(&[::core::option::Option::None,::core::option::Option::Some(8)])"),
        "{text}"
    );
}
