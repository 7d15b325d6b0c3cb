//! The bindings of cuFFT, from `cufft.h`.

use crate::bindings::bindings;

bindings! {
    from cudarc::cufft::sys;
    handle cudaStream_t = CUstream_st;
    type cufftHandle = c_int;
    type cufftReal = f32;
    type cufftDoubleReal = f64;
    enum cufftType: u32 {
        CUFFT_C2C = 41,
        CUFFT_R2C = 42,
        CUFFT_C2R = 44,
        CUFFT_Z2Z = 105,
        CUFFT_D2Z = 106,
        CUFFT_Z2D = 108,
    }
    layout cufftComplex;
    layout cufftDoubleComplex;
    also {
        #[repr(C, align(8))]
        #[derive(Clone, Copy)]
        pub struct cufftComplex {
            pub x: f32,
            pub y: f32,
        }

        #[repr(C, align(16))]
        #[derive(Clone, Copy)]
        pub struct cufftDoubleComplex {
            pub x: f64,
            pub y: f64,
        }
    }
}
