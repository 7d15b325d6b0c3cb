//! The exact calls that pipelines make of cuBLAS and cuBLASLt, without a GPU: stubs of CUDA's libraries write
//! them down.

use thalweg::__private::Detail;
use thalweg::half::f16;
use thalweg::prelude::*;
use thalweg_libraries::cublas::{self, Gemm, Gemv};
use thalweg_tests::stubs::Stubs;

const STUBS: Stubs = Stubs {
    module: module_path!(),
    folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-cublas"),
    libraries: &["libcuda", "libnvrtc", "libcublas", "libcublasLt"],
    flags: &[],
    broken: &[],
};

/// The lines about cuBLAS and about freed memory.
fn of_cublas(record: &str) -> Vec<&str> {
    record.lines().filter(|line| line.starts_with("cublas")).collect()
}

stream_pipeline! {
    /// Two stages on streams of their own.
    pipeline Products {
        input x: [f32; 4];
        input z: [f16; 4];
        resident w: [f32];
        resident v: [f16];
        output y: [f32; 2];
        output u: [f32; 2];
        device dy: [f32; 2];
        device du: [f32; 2];
        chunk c = 3;
        depth = 2;
        stream up;
        stream one;
        stream two;
        stage load on up { copy x -> dx; copy z -> dz; }
        stage first on one { call cublas::gemm_out(Gemm::new(c.len, 2, 4), 1.5, &dx, &w, out dy); }
        stage second on two { call cublas::gemm_out(Gemm::new(c.len, 2, 4).transpose_b(), 1.0, &dz, &v, out du); }
        stage store { copy dy -> y; copy du -> u; }
    }
}

fn run(products: &mut Products, items: usize) -> thalweg::Result<Report> {
    let (x, z) = (vec![1.0; 4 * items], vec![f16::ONE; 4 * items]);
    let (mut y, mut u) = (vec![0.0; 2 * items], vec![0.0; 2 * items]);
    products.run(&x, &z, &[1.0; 8], &[f16::ONE; 8], &mut y, &mut u)
}

#[test]
fn each_slot_and_stream_has_its_handle() {
    let record = STUBS.record("each_slot_and_stream_has_its_handle", &[], |device| {
        let mut products = Products::new(device).expect("the pipeline");
        run(&mut products, 8).expect("a run of three chunks");
        run(&mut products, 3).expect("a run of one chunk");
        // No context is current.
        std::thread::scope(|scope| {
            scope.spawn(move || drop(products));
        });
    });
    let Some(record) = record else { return };
    // Each handle has 32 MiB, as the stub's device has compute capability 9.0.
    let made = |handle: &str, stream: &str, workspace: &str| {
        [
            format!("cublasCreate {handle}"),
            format!("cublasSetStream {handle} {stream}"),
            format!("cublasSetWorkspace {handle} {workspace} 33554432"),
            format!("cublasSetMathMode {handle} 16"),
        ]
    };
    let names: Vec<_> = record.lines().filter(|line| line.starts_with("cuMemAlloc")).collect();
    assert_eq!(names.iter().filter(|line| line.ends_with(" 33554432")).count(), 4, "{names:?}");
    // cuBLAS gets `b` as its `a`: in its column-major order each matrix is the transpose of ours, and so is
    // the product. `y` and `u` are d1 and d2, `x` and `z` d3 and d4, `w` and `v` d5 and d6. 0 is `f32`, 2 is
    // `f16`, 68 sums in `f32`.
    let first = |handle: &str, rows: u32, x: &str, y: &str| {
        format!(
            "cublasGemmEx {handle} op=0,0 m=2 n={rows} k=4 alpha=1.5 d5 type=0 ld=2 {x} type=0 ld=4 beta=0 {y} type=0 ld=2 \
             compute=68 algorithm=-1"
        )
    };
    let second = |handle: &str, rows: u32, z: &str, u: &str| {
        format!(
            "cublasGemmEx {handle} op=1,0 m=2 n={rows} k=4 alpha=1 d6 type=2 ld=4 {z} type=2 ld=4 beta=0 {u} type=0 ld=2 \
             compute=68 algorithm=-1"
        )
    };
    let mut expected = Vec::new();
    expected.extend(made("b1", "s2", "d7"));
    expected.push(first("b1", 3, "d3", "d1"));
    expected.extend(made("b2", "s3", "d8"));
    expected.push(second("b2", 3, "d4", "d2"));
    expected.extend(made("b3", "s2", "d9"));
    expected.push(first("b3", 3, "d3+256", "d1+256"));
    expected.extend(made("b4", "s3", "d10"));
    expected.push(second("b4", 3, "d4+256", "d2+256"));
    expected.push(first("b1", 2, "d3", "d1"));
    expected.push(second("b2", 2, "d4", "d2"));
    expected.push(first("b1", 3, "d3", "d1"));
    expected.push(second("b2", 3, "d4", "d2"));
    expected.extend(["b1", "b2", "b3", "b4"].map(|handle| format!("cublasDestroy {handle}")));
    assert_eq!(of_cublas(&record), expected, "{record}");
    // At the end the handles are destroyed before their workspaces, and these are freed before the streams.
    let end: Vec<_> = record.lines().skip_while(|line| !line.starts_with("cublasDestroy")).take(9).collect();
    let expected = [
        "cublasDestroy b1",
        "cuMemFree d7",
        "cublasDestroy b2",
        "cuMemFree d8",
        "cublasDestroy b3",
        "cuMemFree d9",
        "cublasDestroy b4",
        "cuMemFree d10",
        "cuStreamDestroy s1",
    ];
    assert_eq!(end, expected, "{record}");
}

stream_pipeline! {
    /// A product without terms, and one of a vector.
    pipeline Edges {
        param beta: f32;
        input x: [f32; 4];
        inout y: [f32; 4];
        chunk c = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage all {
            call edges(c.len, beta, &dx, &mut dy);
        }
        stage store { copy dy -> y; }
    }
}

fn edges(
    queue: &Enqueue<'_>,
    rows: usize,
    beta: f32,
    x: DeviceSlice<'_, f32>,
    mut y: DeviceSliceMut<'_, f32>,
) -> thalweg::Result<()> {
    let nothing = x.get(..0).expect("it is within the slice");
    // Rows have 3 of 4 elements; the last row has no gap.
    let part = y.get_mut(..4 * rows - 1).expect("it is within the slice");
    cublas::gemm(queue, Gemm::new(rows, 3, 0).ldc(4), 1.0, nothing, nothing, beta, part)?;
    cublas::gemm(queue, Gemm::new(0, 4, 2), 1.0, nothing, x, beta, y.reborrow())?;
    let (mut out, _) = y.split_at_mut(4).expect("it is within the slice");
    cublas::gemv(
        queue,
        Gemv::new(rows, 4).transpose(),
        2.0,
        x,
        x.get(..rows).expect("within"),
        beta,
        out.reborrow(),
    )?;
    cublas::axpy(queue, 0.5, x, y)
}

#[test]
fn products_without_terms_scale() {
    let record = STUBS.record("products_without_terms_scale", &[], |device| {
        let mut edges = Edges::new(device).expect("the pipeline");
        for beta in [0.0, 0.5, 1.0] {
            edges.run(beta, &[1.0; 8], &mut [2.0; 8]).expect("a run");
        }
    });
    let Some(record) = record else { return };
    let calls: Vec<_> = record
        .lines()
        .filter(|line| ["cublasS", "cublasA", "cuMemsetD8"].iter().any(|call| line.starts_with(call)))
        .filter(|line| !line.starts_with("cublasSet"))
        .collect();
    let after = |beta: &str| {
        [
            format!("cublasSgemv b1 op=0 m=4 n=2 alpha=2 d1 ld=4 d1 1 beta={beta} d2 1"),
            "cublasAxpyEx b1 8 alpha=0.5 d1 type=0 1 d2 type=0 1 compute=0".to_owned(),
        ]
    };
    let mut expected: Vec<String> = Vec::new();
    // With `beta` 0, the content before is not read: rows of three elements of four bytes are set to 0.
    expected.extend(["d2", "d2+16"].map(|row| format!("cuMemsetD8Async {row} 1 0 12 s2")));
    expected.extend(after("0"));
    expected
        .extend(["d2", "d2+16"].map(|row| format!("cublasScalEx b1 3 alpha=0.5 {row} type=0 1 compute=0")));
    expected.extend(after("0.5"));
    expected.extend(after("1"));
    assert_eq!(calls, expected, "{record}");
}

stream_pipeline! {
    /// One slot, so that there is one handle.
    #[allow(deprecated, reason = "a depth of 1 is warned of")]
    pipeline Layer {
        input x: [f16; 8];
        resident w: [f16];
        resident bias: [f16];
        output y: [f16; 16];
        device dy: [f16; 16];
        chunk c = 4;
        depth = 1;
        stage load { copy x -> dx; }
        stage all {
            call cublas::matmul_bias(Gemm::new(c.len, 16, 8).transpose_b().relu(), 1.0, &dx, &w, &bias, out dy);
        }
        stage store { copy dy -> y; }
    }
}

fn layer(layer: &mut Layer) -> thalweg::Result<Report> {
    let (x, w) = ([f16::ONE; 8 * 8], [f16::ONE; 8 * 16]);
    layer.run(&x, &w, &[f16::ONE; 16], &mut [f16::ONE; 8 * 16])
}

#[test]
fn an_algorithm_is_chosen_once() {
    let record = STUBS.record("an_algorithm_is_chosen_once", &[], |device| {
        let mut pipeline = Layer::new(device).expect("the pipeline");
        layer(&mut pipeline).expect("a run of two chunks");
    });
    let Some(record) = record else { return };
    // The first operand is `w`, transposed, of 16-bit elements; the first result has 16 rows, one for each
    // element of the bias.
    let product = "cublasLtMatmul o1 o2 alpha=1 d3 o4 d2 o3 beta=0 d1 o5 d1 o5 d5 33554432 s2";
    let expected = [
        "cublasLtCreate o1",
        "cublasLtMatmulDescCreate o2 compute=68 scale=0",
        "cublasLtMatmulDescSetAttribute o2 3 1",
        "cublasLtMatmulDescSetAttribute o2 4 0",
        "cublasLtMatmulDescSetAttribute o2 7 6",
        "cublasLtMatmulDescSetAttribute o2 8 d4",
        "cublasLtMatrixLayoutCreate o3 type=2 8 x 4 ld=8",
        "cublasLtMatrixLayoutCreate o4 type=2 8 x 16 ld=8",
        "cublasLtMatrixLayoutCreate o5 type=2 16 x 4 ld=16",
        "cublasLtMatmulPreferenceCreate o6",
        "cublasLtMatmulPreferenceSetAttribute o6 1 33554432",
        "cublasLtMatmulPreferenceSetAttribute o6 3 2",
        "cublasLtMatmulPreferenceSetAttribute o6 5 256",
        "cublasLtMatmulPreferenceSetAttribute o6 6 256",
        "cublasLtMatmulPreferenceSetAttribute o6 7 256",
        "cublasLtMatmulPreferenceSetAttribute o6 8 256",
        "cublasLtMatmulAlgoGetHeuristic o1 o2 o4 o3 o5 o5 o6",
        "cublasLtMatmulPreferenceDestroy o6",
        "cublasLtMatmulDescSetAttribute o2 8 d4",
        product,
        "cublasLtMatmulDescSetAttribute o2 8 d4",
        product,
        "cublasLtMatmulDescDestroy o2",
        "cublasLtMatrixLayoutDestroy o3",
        "cublasLtMatrixLayoutDestroy o4",
        "cublasLtMatrixLayoutDestroy o5",
        "cublasLtDestroy o1",
    ];
    assert_eq!(of_cublas(&record), expected, "{record}");
}

#[test]
fn no_algorithm_is_an_error() {
    STUBS.record("no_algorithm_is_an_error", &[("THALWEG_NO_ALGORITHM", "1")], |device| {
        let error = layer(&mut Layer::new(device).expect("the pipeline")).expect_err("there is no algorithm");
        let expected = "`cublasLtMatmulAlgoGetHeuristic` of cuBLASLt failed: CUBLAS_STATUS_NOT_SUPPORTED (15)\n  \
            in pipeline `Layer`, stage `all`, operation `call cublas::matmul_bias`, chunk 0\n";
        assert!(error.to_string().starts_with(expected), "{error}");
    });
}

/// Whichever call fails, everything that was made is destroyed, and the next run works.
#[test]
fn a_call_that_fails_says_so() {
    // The second call of each kind fails, of the products the sixth: each run before had a first one.
    let fails =
        "cublasCreate:3:2,cublasSetStream:3:2,cublasSetWorkspace:3:2,cublasSetMathMode:3:2,cublasGemmEx:3:6";
    let record = STUBS.record("a_call_that_fails_says_so", &[("THALWEG_FAIL", fails)], |device| {
        let mut products = Products::new(device).expect("the pipeline");
        for call in ["cublasCreate", "cublasSetStream", "cublasSetWorkspace", "cublasSetMathMode", "cublasGemmEx"] {
            let error = run(&mut products, 3).expect_err("a call fails");
            let expected = format!(
                "`{call}` of cuBLAS failed: CUBLAS_STATUS_ALLOC_FAILED (3)\n  in pipeline `Products`, stage `second`, \
                 operation `call cublas::gemm_out`, chunk 0\n  at tests/tests/recorded/cublas.rs:"
            );
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
        run(&mut products, 3).expect("the next run works");
    });
    let Some(record) = record else { return };
    let count =
        |call: &str| record.lines().filter(|line| line.starts_with(call) && !line.contains("->")).count();
    assert_eq!(count("cublasCreate"), count("cublasDestroy"), "{record}");
    let allocated = record.lines().filter(|line| line.starts_with("cuMemAlloc")).count();
    assert_eq!(count("cuMemFree d"), allocated, "{record}");
}

/// The library says that the device failed; the device names the operation.
#[test]
fn a_fault_of_the_device_is_told() {
    let variables = [("THALWEG_FAIL", "cublasGemmEx:13:2,cuStreamSynchronize:700:4+")];
    let record = STUBS.record("a_fault_of_the_device_is_told", &variables, |device| {
        let mut products = Products::new(device).expect("the pipeline");
        let error = run(&mut products, 3).expect_err("a call fails");
        let expected = "`cublasGemmEx` of cuBLAS failed: CUBLAS_STATUS_EXECUTION_FAILED (13)\n  the device reported: \
            `cuStreamSynchronize` failed: CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered\n  \
            in pipeline `Products`, stage `second`, operation `call cublas::gemm_out`, chunk 0\n";
        assert!(error.to_string().starts_with(expected), "{error}");
        let again = run(&mut products, 3).expect_err("the device does not answer");
        assert!(matches!(again.detail(), Detail::PipelinePoisoned), "{again}");
    });
    let Some(record) = record else { return };
    assert!(!record.contains("cublasDestroy"), "what may still be at work is leaked: {record}");
}

#[test]
fn a_workspace_that_does_not_fit_says_whose_it_is() {
    let variables = [("THALWEG_MEMORY", "40000000")];
    STUBS.record("a_workspace_that_does_not_fit_says_whose_it_is", &variables, |device| {
        let mut products = Products::new(device).expect("the pipeline");
        let error = run(&mut products, 3).expect_err("the second workspace does not fit");
        let text = error.to_string();
        let expected = "device memory is exhausted: `workspace of cuBLAS` needs 33554432 bytes, ";
        assert!(text.starts_with(expected) && text.contains("stage `second`"), "{text}");
    });
}

#[test]
fn a_library_that_is_not_there_says_where_to_get_it() {
    let stubs = Stubs {
        module: module_path!(),
        folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-without-cublas"),
        libraries: &["libcuda", "libnvrtc"],
        broken: &["libcublas.so", "libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so.10"],
        ..STUBS
    };
    stubs.record("a_library_that_is_not_there_says_where_to_get_it", &[], |device| {
        let error =
            run(&mut Products::new(device).expect("the pipeline"), 3).expect_err("there is no cuBLAS");
        let text = error.to_string();
        assert!(
            text.starts_with("no cuBLAS: none of its libraries could be loaded\n  looked for libcublas.so, "),
            "{text}"
        );
        assert!(text.contains("PyPI's `nvidia-cublas`") && text.contains("stage `first`"), "{text}");
    });
}

#[test]
fn a_library_without_a_function_is_too_old() {
    let stubs = Stubs {
        module: module_path!(),
        folder: concat!(env!("CARGO_TARGET_TMPDIR"), "/recording-old-cublas"),
        flags: &["-DWITHOUT_GEMV"],
        ..STUBS
    };
    stubs.record("a_library_without_a_function_is_too_old", &[], |device| {
        let error = run(&mut Products::new(device).expect("the pipeline"), 3).expect_err("cuBLAS is too old");
        assert!(
            error.to_string().starts_with("this cuBLAS is too old: it has no `cublasSgemv_v2`\n  in "),
            "{error}"
        );
    });
}

/// In graph mode routines are on the streams of the slots.
#[test]
fn in_graph_mode_each_slot_has_its_handle() {
    let record = STUBS.record("in_graph_mode_each_slot_has_its_handle", &[], |device| {
        let mut products = Products::options(device).graph().build().expect("the pipeline");
        run(&mut products, 9).expect("a run of three chunks");
    });
    let Some(record) = record else { return };
    let calls: Vec<_> = of_cublas(&record)
        .into_iter()
        .map(|line| {
            line.split(' ').take(3).filter(|word| !word.starts_with("op")).collect::<Vec<_>>().join(" ")
        })
        .filter(|line| !line.starts_with("cublasSetW") && !line.starts_with("cublasSetM"))
        .collect();
    let (one, two) =
        (calls[1].replace("cublasSetStream b1 ", ""), calls[5].replace("cublasSetStream b2 ", ""));
    assert_ne!(one, two);
    let expected = [
        "cublasCreate b1",
        &format!("cublasSetStream b1 {one}"),
        "cublasGemmEx b1",
        "cublasGemmEx b1",
        "cublasCreate b2",
        &format!("cublasSetStream b2 {two}"),
        "cublasGemmEx b2",
        "cublasGemmEx b2",
        "cublasGemmEx b1",
        "cublasGemmEx b1",
        "cublasDestroy b1",
        "cublasDestroy b2",
    ];
    assert_eq!(calls, expected, "{record}");
}
