extern "C" __global__ void swap(unsigned int n, float* a, float* b) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}
