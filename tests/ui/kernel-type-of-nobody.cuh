extern "C" __global__ void scale(unsigned n, real factor, float* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= factor;
}
