//! The functions of cuBLAS and cuBLASLt.

use std::ffi::{c_int, c_longlong, c_void};

use thalweg::Error;

use super::lt_sys::{
    self as lt, cublasLtHandle_t, cublasLtMatmulAlgo_t, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,
    cublasLtMatmulHeuristicResult_t, cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t,
    cublasLtMatrixLayout_t,
};
use super::sys::{
    self as blas, cublasComputeType_t, cublasGemmAlgo_t, cublasHandle_t, cublasMath_t, cublasOperation_t,
    cudaDataType,
};
use crate::table::functions;
use crate::{Library, of_library};

/// PyPI's package, which has both libraries.
const PACKAGE: &str = "nvidia-cublas` (of CUDA 12: `nvidia-cublas-cu12`, of 11: `nvidia-cublas-cu11";

static CUBLAS: Library = Library::new("cuBLAS", "cublas", [13, 12, 11], PACKAGE);
static CUBLAS_LT: Library = Library::new("cuBLASLt", "cublasLt", [13, 12, 11], PACKAGE);

functions! {
    /// The functions that every cuBLAS since 11.2 has.
    struct Functions, bindings super::sys, code cublasStatus_t;
    fn cublasCreate_v2(handle: *mut cublasHandle_t);
    fn cublasDestroy_v2(handle: cublasHandle_t);
    fn cublasSetStream_v2(handle: cublasHandle_t, stream: blas::cudaStream_t);
    fn cublasSetWorkspace_v2(handle: cublasHandle_t, workspace: *mut c_void, bytes: usize);
    fn cublasSetMathMode(handle: cublasHandle_t, mode: cublasMath_t);
    fn cublasGemmEx(
        handle: cublasHandle_t,
        trans_a: cublasOperation_t,
        trans_b: cublasOperation_t,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: *const c_void,
        a: *const c_void,
        a_type: cudaDataType,
        lda: c_int,
        b: *const c_void,
        b_type: cudaDataType,
        ldb: c_int,
        beta: *const c_void,
        c: *mut c_void,
        c_type: cudaDataType,
        ldc: c_int,
        compute: cublasComputeType_t,
        algorithm: cublasGemmAlgo_t,
    );
    fn cublasGemmStridedBatchedEx(
        handle: cublasHandle_t,
        trans_a: cublasOperation_t,
        trans_b: cublasOperation_t,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: *const c_void,
        a: *const c_void,
        a_type: cudaDataType,
        lda: c_int,
        stride_a: c_longlong,
        b: *const c_void,
        b_type: cudaDataType,
        ldb: c_int,
        stride_b: c_longlong,
        beta: *const c_void,
        c: *mut c_void,
        c_type: cudaDataType,
        ldc: c_int,
        stride_c: c_longlong,
        count: c_int,
        compute: cublasComputeType_t,
        algorithm: cublasGemmAlgo_t,
    );
    fn cublasSgemv_v2(
        handle: cublasHandle_t,
        trans: cublasOperation_t,
        m: c_int,
        n: c_int,
        alpha: *const f32,
        a: *const f32,
        lda: c_int,
        x: *const f32,
        x_step: c_int,
        beta: *const f32,
        y: *mut f32,
        y_step: c_int,
    );
    fn cublasDgemv_v2(
        handle: cublasHandle_t,
        trans: cublasOperation_t,
        m: c_int,
        n: c_int,
        alpha: *const f64,
        a: *const f64,
        lda: c_int,
        x: *const f64,
        x_step: c_int,
        beta: *const f64,
        y: *mut f64,
        y_step: c_int,
    );
    fn cublasAxpyEx(
        handle: cublasHandle_t,
        n: c_int,
        alpha: *const c_void,
        alpha_type: cudaDataType,
        x: *const c_void,
        x_type: cudaDataType,
        x_step: c_int,
        y: *mut c_void,
        y_type: cudaDataType,
        y_step: c_int,
        compute: cudaDataType,
    );
    fn cublasScalEx(
        handle: cublasHandle_t,
        n: c_int,
        alpha: *const c_void,
        alpha_type: cudaDataType,
        x: *mut c_void,
        x_type: cudaDataType,
        x_step: c_int,
        compute: cudaDataType,
    );
}

of_library!(Functions, CUBLAS, status);

functions! {
    /// The functions that every cuBLASLt since 11.0 has.
    struct LtFunctions, bindings super::lt_sys, code cublasStatus_t;
    fn cublasLtCreate(handle: *mut cublasLtHandle_t);
    fn cublasLtDestroy(handle: cublasLtHandle_t);
    fn cublasLtMatmulDescCreate(
        description: *mut cublasLtMatmulDesc_t,
        compute: lt::cublasComputeType_t,
        scale: lt::cudaDataType_t,
    );
    fn cublasLtMatmulDescDestroy(description: cublasLtMatmulDesc_t);
    fn cublasLtMatmulDescSetAttribute(
        description: cublasLtMatmulDesc_t,
        attribute: cublasLtMatmulDescAttributes_t,
        value: *const c_void,
        bytes: usize,
    );
    fn cublasLtMatrixLayoutCreate(
        layout: *mut cublasLtMatrixLayout_t,
        element: lt::cudaDataType,
        rows: u64,
        columns: u64,
        ld: i64,
    );
    fn cublasLtMatrixLayoutDestroy(layout: cublasLtMatrixLayout_t);
    fn cublasLtMatmulPreferenceCreate(preference: *mut cublasLtMatmulPreference_t);
    fn cublasLtMatmulPreferenceDestroy(preference: cublasLtMatmulPreference_t);
    fn cublasLtMatmulPreferenceSetAttribute(
        preference: cublasLtMatmulPreference_t,
        attribute: cublasLtMatmulPreferenceAttributes_t,
        value: *const c_void,
        bytes: usize,
    );
    fn cublasLtMatmulAlgoGetHeuristic(
        handle: cublasLtHandle_t,
        description: cublasLtMatmulDesc_t,
        a: cublasLtMatrixLayout_t,
        b: cublasLtMatrixLayout_t,
        c: cublasLtMatrixLayout_t,
        d: cublasLtMatrixLayout_t,
        preference: cublasLtMatmulPreference_t,
        wanted: c_int,
        results: *mut cublasLtMatmulHeuristicResult_t,
        found: *mut c_int,
    );
    fn cublasLtMatmul(
        handle: cublasLtHandle_t,
        description: cublasLtMatmulDesc_t,
        alpha: *const c_void,
        a: *const c_void,
        a_layout: cublasLtMatrixLayout_t,
        b: *const c_void,
        b_layout: cublasLtMatrixLayout_t,
        beta: *const c_void,
        c: *const c_void,
        c_layout: cublasLtMatrixLayout_t,
        d: *mut c_void,
        d_layout: cublasLtMatrixLayout_t,
        algorithm: *const cublasLtMatmulAlgo_t,
        workspace: *mut c_void,
        bytes: usize,
        stream: lt::cudaStream_t,
    );
}

of_library!(LtFunctions, CUBLAS_LT, status);

impl LtFunctions {
    /// The error for a `cublasLtMatmulAlgoGetHeuristic` that succeeds but finds no algorithm.
    #[cold]
    pub(super) fn no_algorithm(&self) -> Error {
        self.error("cublasLtMatmulAlgoGetHeuristic", NOT_SUPPORTED)
    }
}

const NOT_SUPPORTED: u32 = 15;

/// The libraries' name for a code.
fn status(code: u32) -> &'static str {
    match code {
        1 => "CUBLAS_STATUS_NOT_INITIALIZED",
        3 => "CUBLAS_STATUS_ALLOC_FAILED",
        7 => "CUBLAS_STATUS_INVALID_VALUE",
        8 => "CUBLAS_STATUS_ARCH_MISMATCH",
        11 => "CUBLAS_STATUS_MAPPING_ERROR",
        13 => "CUBLAS_STATUS_EXECUTION_FAILED",
        14 => "CUBLAS_STATUS_INTERNAL_ERROR",
        NOT_SUPPORTED => "CUBLAS_STATUS_NOT_SUPPORTED",
        16 => "CUBLAS_STATUS_LICENSE_ERROR",
        _ => "an unknown status",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_libraries_names() {
        use blas::cublasStatus_t::*;
        let all = [
            CUBLAS_STATUS_NOT_INITIALIZED,
            CUBLAS_STATUS_ALLOC_FAILED,
            CUBLAS_STATUS_INVALID_VALUE,
            CUBLAS_STATUS_ARCH_MISMATCH,
            CUBLAS_STATUS_MAPPING_ERROR,
            CUBLAS_STATUS_EXECUTION_FAILED,
            CUBLAS_STATUS_INTERNAL_ERROR,
            CUBLAS_STATUS_NOT_SUPPORTED,
            CUBLAS_STATUS_LICENSE_ERROR,
        ];
        for code in all {
            assert_eq!(status(code as u32), format!("{code:?}"));
        }
        assert_eq!(status(2), "an unknown status");
    }
}
