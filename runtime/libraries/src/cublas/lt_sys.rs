//! The bindings of cuBLASLt, from `cublasLt.h`.

use crate::bindings::bindings;

bindings! {
    from cudarc::cublaslt::sys;
    handle cublasLtHandle_t = cublasLtContext;
    handle cublasLtMatmulDesc_t = cublasLtMatmulDescOpaque_t;
    handle cublasLtMatmulPreference_t = cublasLtMatmulPreferenceOpaque_t;
    handle cublasLtMatrixLayout_t = cublasLtMatrixLayoutOpaque_t;
    handle cudaStream_t = CUstream_st;
    type cudaDataType = cudaDataType_t;
    enum cublasComputeType_t: u32 {
        CUBLAS_COMPUTE_32F = 68,
        CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    }
    enum cudaDataType_t: u32 {
        CUDA_R_32F = 0,
        CUDA_R_64F = 1,
        CUDA_R_16F = 2,
        CUDA_R_16BF = 14,
    }
    enum cublasLtEpilogue_t: u32 {
        CUBLASLT_EPILOGUE_DEFAULT = 1,
        CUBLASLT_EPILOGUE_RELU = 2,
        CUBLASLT_EPILOGUE_BIAS = 4,
        CUBLASLT_EPILOGUE_RELU_BIAS = 6,
        CUBLASLT_EPILOGUE_GELU = 32,
        CUBLASLT_EPILOGUE_GELU_BIAS = 36,
    }
    enum cublasLtMatmulDescAttributes_t: u32 {
        CUBLASLT_MATMUL_DESC_TRANSA = 3,
        CUBLASLT_MATMUL_DESC_TRANSB = 4,
        CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
        CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
    }
    enum cublasLtMatmulPreferenceAttributes_t: u32 {
        CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
        CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
    }
    struct cublasLtMatmulAlgo_t {
        data: [u64; 8],
    }
    struct cublasLtMatmulHeuristicResult_t {
        algo: cublasLtMatmulAlgo_t,
        workspaceSize: usize,
        state: u32,
        wavesCount: f32,
        reserved: [c_int; 4],
    }
}
