//! The headers that need not be beside a source (those of the CUDA toolkit that NVRTC compiles, and this
//! crate's own, which stand for some of C and C++), and the headers that NVRTC does not have, or cannot
//! compile.
//!
//! The lists of the toolkit's headers were tried with NVRTC 13.0, each header alone. The tests of `.ci/nvrtc`
//! try them again.

use super::options::is_default_device;

/// Whether a header of this name is there when NVRTC compiles.
pub(super) fn may_have(path: &str) -> bool {
    match path.split_once('/') {
        Some((folder, _)) => FOLDERS.contains(&folder),
        None => HEADERS.contains(&path) || OWN.contains(&path),
    }
}

/// The headers that count as there, and those that count as not compiling.
#[doc(hidden)]
pub fn headers() -> (Vec<&'static str>, Vec<&'static str>) {
    ([HEADERS, OWN].concat(), NOT_FOR_DEVICES.concat())
}

/// Whether a header cannot be compiled with these options.
pub(super) fn is_for_the_host(path: &str, options: &[String]) -> bool {
    let compiles_if_marked = matches!(path, "cuda.h" | "cudaTypedefs.h" | "nvrtc.h");
    NOT_FOR_DEVICES.iter().any(|list| list.contains(&path))
        && !(compiles_if_marked && is_default_device(options))
        || path.starts_with("sys/")
}

/// The header to include in place of one of C++, if CUDA has its parts for kernels.
pub(crate) fn stands_in(path: &str) -> Option<String> {
    TWINS.contains(&path).then(|| format!("cuda/std/{path}"))
}

/// The lists of headers that NVRTC does not have, or cannot compile.
const NOT_FOR_DEVICES: [&[&str]; 5] = [C, CPP, TWINS, SYSTEM, CUDA];

const FOLDERS: [&str; 7] = ["cccl", "cooperative_groups", "crt", "cub", "cuda", "nv", "thrust"];

/// The headers of CUDA 13.0, and those of cuRAND that kernels use.
#[rustfmt::skip]
const HEADERS: &[&str] = &[
    "builtin_types.h", "common_functions.h", "cooperative_groups.h", "cuComplex.h", "cuda_awbarrier.h",
    "cuda_awbarrier_helpers.h", "cuda_awbarrier_primitives.h", "cuda_bf16.h", "cuda_device_runtime_api.h",
    "cuda_fp16.h", "cuda_fp4.h", "cuda_fp6.h", "cuda_fp8.h", "cuda_occupancy.h", "cuda_pipeline.h", "cuda_pipeline_helpers.h",
    "cuda_pipeline_primitives.h", "cuda_runtime.h", "cuda_runtime_api.h", "cudart_platform.h", "curand.h",
    "curand_discrete.h", "curand_discrete2.h", "curand_globals.h", "curand_kernel.h", "curand_lognormal.h",
    "curand_mrg32k3a.h", "curand_mtgp32.h", "curand_mtgp32_kernel.h", "curand_normal.h",
    "curand_normal_static.h", "curand_philox4x32_x.h", "curand_poisson.h", "curand_precalc.h",
    "curand_uniform.h", "device_atomic_functions.h", "device_atomic_functions.hpp",
    "device_double_functions.h", "device_functions.h", "device_launch_parameters.h", "device_types.h",
    "driver_types.h", "host_config.h", "host_defines.h", "library_types.h", "math_constants.h",
    "math_functions.h", "mma.h", "sm_20_atomic_functions.h", "sm_20_atomic_functions.hpp",
    "sm_20_intrinsics.h", "sm_20_intrinsics.hpp", "sm_30_intrinsics.h", "sm_30_intrinsics.hpp",
    "sm_32_atomic_functions.h", "sm_32_atomic_functions.hpp", "sm_32_intrinsics.h", "sm_32_intrinsics.hpp",
    "sm_35_atomic_functions.h", "sm_35_intrinsics.h", "sm_60_atomic_functions.h",
    "sm_60_atomic_functions.hpp", "sm_61_intrinsics.h", "sm_61_intrinsics.hpp",
    "surface_indirect_functions.h", "surface_types.h", "texture_indirect_functions.h", "texture_types.h",
    "vector_functions.h", "vector_functions.hpp", "vector_types.h",
];

/// The headers of C and C++ that the runtime hands to NVRTC.
#[rustfmt::skip]
const OWN: &[&str] = &[
    "assert.h", "float.h", "limits.h", "math.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h",
    "string.h", "cassert", "cfloat", "climits", "cmath", "cstdbool", "cstddef", "cstdint", "cstdio", "cstdlib",
    "cstring",
];

#[rustfmt::skip]
const C: &[&str] = &[
    "complex.h", "ctype.h", "errno.h", "fenv.h", "inttypes.h", "iso646.h", "locale.h", "setjmp.h", "signal.h",
    "stdalign.h", "stdarg.h", "stdatomic.h", "stdnoreturn.h", "tgmath.h", "threads.h", "time.h", "uchar.h",
    "wchar.h", "wctype.h", "ccomplex", "cctype", "cerrno", "cfenv", "cinttypes", "clocale", "csetjmp", "csignal",
    "cstdarg", "ctgmath", "cuchar", "cwchar", "cwctype",
];

/// The headers of C++ that CUDA has no counterpart for.
#[rustfmt::skip]
const CPP: &[&str] = &[
    "algorithm", "any", "charconv", "codecvt", "compare", "condition_variable", "coroutine", "deque", "exception", "execution",
    "filesystem", "forward_list", "fstream", "future", "iomanip", "ios", "iosfwd", "iostream", "istream", "list",
    "locale", "map", "memory", "memory_resource", "mutex", "new", "ostream", "queue", "random", "ranges", "regex",
    "scoped_allocator", "set", "shared_mutex", "sstream", "stack", "stdexcept", "stop_token", "streambuf", "string",
    "string_view", "strstream", "system_error", "thread", "typeindex", "typeinfo", "unordered_map", "unordered_set",
    "valarray", "vector",
];

/// The headers of C++ that CUDA has a part of, such as `<cuda/std/array>`.
#[rustfmt::skip]
const TWINS: &[&str] = &[
    "array", "atomic", "barrier", "bit", "bitset", "chrono", "complex", "concepts", "ctime",
    "functional", "initializer_list", "iterator", "latch", "limits", "numeric", "optional", "ratio", "semaphore",
    "span", "tuple", "type_traits", "utility", "variant",
];

/// The headers of operating systems, and of libraries for hosts.
#[rustfmt::skip]
const SYSTEM: &[&str] = &[
    "GL/freeglut.h", "GL/gl.h", "GL/glew.h", "GL/glu.h", "GL/glut.h", "EGL/egl.h", "EGL/eglext.h", "dirent.h",
    "dlfcn.h", "fcntl.h", "getopt.h", "io.h", "malloc.h", "memory.h", "mpi.h", "omp.h", "pthread.h", "sched.h",
    "strings.h", "unistd.h", "windows.h", "Windows.h",
];

/// The headers of CUDA that have functions of the host.
#[rustfmt::skip]
const CUDA: &[&str] = &[
    "channel_descriptor.h", "cublas.h", "cublasLt.h", "cublasXt.h", "cublas_v2.h", "cuda.h", "cudaEGL.h",
    "cudaEGLTypedefs.h", "cudaGL.h", "cudaGLTypedefs.h", "cudaProfiler.h", "cudaProfilerTypedefs.h",
    "cudaTypedefs.h", "cudaVDPAU.h", "cudaVDPAUTypedefs.h", "cuda_egl_interop.h", "cuda_gl_interop.h",
    "cuda_profiler_api.h", "cuda_vdpau_interop.h", "cudnn.h", "cufft.h", "cufftXt.h",
    "cufftw.h", "cusolverDn.h", "cusolverSp.h", "cusparse.h", "cusparse_v2.h", "driver_functions.h", "npp.h",
    "nvToolsExt.h", "nvml.h", "nvrtc.h", "nvtx3/nvToolsExt.h",
];
