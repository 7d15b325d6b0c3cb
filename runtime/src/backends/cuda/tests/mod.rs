//! The backend as the rest of the crate sees it: against the recording stubs, and on a GPU.

use crate::base::kernel::{KernelInfo, KernelModule};
use crate::driver::{HostBodies, HostBody, RawFunction, RawLaunch, Tag};

mod gpu;
mod nccl;
// The stubs are shared objects built by `cc`, found by `LD_LIBRARY_PATH`.
#[cfg(target_os = "linux")]
mod recorded;

const TAG: Tag = Tag { pipeline: 0, operation: 4, chunk: 2 };

static SOURCE: KernelModule = KernelModule::cuda(
    "saxpy.cu",
    r#"
extern "C" __global__ void saxpy(unsigned n, float a, const float* x, float* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

// Takes long enough for work on another stream to overtake it, unless that waits.
extern "C" __global__ void slow_fill(unsigned n, unsigned value, unsigned* out) {
    long long start = clock64();
    while (clock64() - start < 50000000) {}
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = value;
}

// Reverses one block's worth through dynamic shared memory.
extern "C" __global__ void reverse(unsigned n, unsigned* data) {
    extern __shared__ unsigned staged[];
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) staged[i] = data[i];
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) data[i] = staged[n - 1 - i];
}
"#,
);

static SAXPY: KernelInfo = kernel(&SOURCE, "saxpy").parameters(&[4, 4, 8, 8]);

const fn kernel(module: &'static KernelModule, name: &'static str) -> KernelInfo {
    KernelInfo::new(name, module)
}

/// A launch of blocks of 256 threads.
fn launch<'a>(
    function: RawFunction,
    blocks: u32,
    shared: u32,
    params: &'a [*mut std::ffi::c_void],
) -> RawLaunch<'a> {
    RawLaunch {
        function,
        grid: [blocks, 1, 1],
        block: [256, 1, 1],
        shared,
        params,
        sizes: &[],
        accesses: &[],
        bodies: HostBodies::One(&no_host_body),
    }
}

fn no_host_body() -> HostBody {
    unreachable!("a GPU runs the kernel itself")
}

#[test]
#[ignore = "needs NVRTC"]
fn the_test_kernels_compile() {
    let image = super::compile_for(&SOURCE, "sm_90").expect("a cubin").image;
    assert_eq!(&image[..4], b"\x7fELF");
}
