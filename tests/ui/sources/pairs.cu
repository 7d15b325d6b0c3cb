extern "C" __global__ void __cluster_dims__(2) pairs(unsigned int n, float* y) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= 2.0f;
}
