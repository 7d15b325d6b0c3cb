//! Headers that NVRTC or the CUDA toolkit has, so that they need not be beside a source.

/// Whether a file of this name may be the toolkit's or a language's own.
pub(super) fn may_have(path: &str) -> bool {
    match path.split_once('/') {
        Some((folder, _)) => FOLDERS.contains(&folder),
        // C++ names its own without an ending.
        None => !path.contains('.') || HEADERS.contains(&path) || LANGUAGE.contains(&path),
    }
}

const FOLDERS: [&str; 8] = ["cccl", "cooperative_groups", "crt", "cub", "cuda", "nv", "thrust", "sys"];

/// Of CUDA 13.0, with the libraries that kernels may use.
#[rustfmt::skip]
const HEADERS: &[&str] = &[
    "builtin_types.h", "channel_descriptor.h", "common_functions.h", "cooperative_groups.h", "cuComplex.h",
    "cublas_v2.h", "cuda.h", "cudaTypedefs.h", "cuda_awbarrier.h", "cuda_awbarrier_helpers.h",
    "cuda_awbarrier_primitives.h", "cuda_bf16.h", "cuda_bf16.hpp", "cuda_device_runtime_api.h", "cuda_fp16.h",
    "cuda_fp16.hpp", "cuda_fp4.h", "cuda_fp4.hpp", "cuda_fp6.h", "cuda_fp6.hpp", "cuda_fp8.h", "cuda_fp8.hpp",
    "cuda_occupancy.h", "cuda_pipeline.h", "cuda_pipeline_helpers.h", "cuda_pipeline_primitives.h",
    "cuda_runtime.h", "cuda_runtime_api.h", "cudart_platform.h", "cufft.h", "cufftXt.h", "curand.h",
    "curand_kernel.h", "curand_mtgp32_kernel.h", "curand_normal.h", "curand_precalc.h", "curand_uniform.h",
    "device_atomic_functions.h", "device_atomic_functions.hpp", "device_double_functions.h", "device_functions.h",
    "device_launch_parameters.h", "device_types.h", "driver_functions.h", "driver_types.h", "host_defines.h",
    "library_types.h", "math_constants.h", "math_functions.h", "mma.h", "nvrtc.h", "sm_20_atomic_functions.h",
    "sm_20_atomic_functions.hpp", "sm_20_intrinsics.h", "sm_20_intrinsics.hpp", "sm_30_intrinsics.h",
    "sm_30_intrinsics.hpp", "sm_32_atomic_functions.h", "sm_32_atomic_functions.hpp", "sm_32_intrinsics.h",
    "sm_32_intrinsics.hpp", "sm_35_atomic_functions.h", "sm_35_intrinsics.h", "sm_60_atomic_functions.h",
    "sm_60_atomic_functions.hpp", "sm_61_intrinsics.h", "sm_61_intrinsics.hpp", "surface_indirect_functions.h",
    "surface_types.h", "texture_indirect_functions.h", "texture_types.h", "vector_functions.h",
    "vector_functions.hpp", "vector_types.h",
];

/// Of C.
#[rustfmt::skip]
const LANGUAGE: &[&str] = &[
    "assert.h", "ctype.h", "errno.h", "float.h", "inttypes.h", "limits.h", "math.h", "setjmp.h", "stdarg.h",
    "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "time.h", "wchar.h",
];
