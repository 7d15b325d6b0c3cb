#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void widen(unsigned int n, __half scale, const __half* x, const __nv_bfloat16* y, float* z) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = __half2float(scale) * __half2float(x[i]) + __bfloat162float(y[i]);
}
