// Kernels whose types and helpers are in included files, with variables in constant and in global memory.

#include "../sources/include/math/params.cuh"
#include <math/apply.cuh>

#ifndef SCALE
#error "`SCALE` comes by an option"
#endif

__constant__ float weights[8];
__device__ Range ranges[4];

extern "C" __global__ void step(Step step, const float* x, float* y) {
    index_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < step.range.count) y[step.range.first + i] = SCALE * apply(step, x[step.range.first + i]);
}

extern "C" __global__ void weigh(index_t n, index_t taps, const float* x, float* y) {
    index_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0.0f;
    for (index_t k = 0; k < taps; k++) sum += weights[k] * x[(i + k) % n];
    y[i] = sum;
}

extern "C" __global__ void count_ranges(index_t n, float* y) {
    index_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (index_t k = 0; k < 4; k++) y[i] += i >= ranges[k].first && i - ranges[k].first < ranges[k].count;
}
