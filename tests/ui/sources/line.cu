#include "line.cuh"

extern "C" __global__ void along(unsigned int n, Line line, float* y) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = line.a * y[i] + line.b;
}
