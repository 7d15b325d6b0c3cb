//! The bindings of cuBLAS, from `cublas_api.h` and `library_types.h`.

use crate::bindings::bindings;

bindings! {
    from cudarc::cublas::sys;
    handle cublasHandle_t = cublasContext;
    handle cudaStream_t = CUstream_st;
    type cudaDataType = cudaDataType_t;
    enum cublasOperation_t: u32 {
        CUBLAS_OP_N = 0,
        CUBLAS_OP_T = 1,
    }
    enum cublasComputeType_t: u32 {
        CUBLAS_COMPUTE_32F = 68,
        CUBLAS_COMPUTE_64F = 70,
        CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    }
    enum cublasGemmAlgo_t: i32 {
        CUBLAS_GEMM_DFALT = -1,
    }
    enum cublasMath_t: u32 {
        CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
    }
    enum cudaDataType_t: u32 {
        CUDA_R_32F = 0,
        CUDA_R_64F = 1,
        CUDA_R_16F = 2,
        CUDA_R_16BF = 14,
    }
}
