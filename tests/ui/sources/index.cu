typedef unsigned int index_t;

extern "C" __global__ void ones(index_t n, float* y) {
    index_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f;
}
