//! The bindings of cuRAND, from `curand.h`.

use crate::bindings::bindings;

bindings! {
    from cudarc::curand::sys;
    handle cudaStream_t = CUstream_st;
    handle curandGenerator_t = curandGenerator_st;
    type curandOrdering_t = curandOrdering;
    type curandRngType_t = curandRngType;
    enum curandOrdering: u32 {
        CURAND_ORDERING_PSEUDO_LEGACY = 103,
    }
    enum curandRngType: u32 {
        CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
    }
}
