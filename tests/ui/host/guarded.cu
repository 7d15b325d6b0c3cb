#include <cstdint>
#include <cuda/std/limits>

extern "C" __global__ void scale(uint32_t n, float a, float* y) {
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = min(y[i] * a, cuda::std::numeric_limits<float>::max());
}

#ifndef __CUDACC_RTC__
#include <iostream>

int main() {
    float* y;
    cudaMallocManaged(&y, 4096);
    scale<<<4, 256>>>(1024, 2.0f, y);
    cudaDeviceSynchronize();
    std::cout << y[0] << '\n';
}
#endif
