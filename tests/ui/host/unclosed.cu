extern "C" __global__ void scale(unsigned int n, float a, float* y) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] *= a;
}
