// Kernels that write all of what they are told to, or less.

extern "C" __global__ void square(unsigned n, const float* x, float* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i];
}

// A grid of any size does all of it, except element `hole`.
extern "C" __global__ void square_but(unsigned n, unsigned hole, const float* x, float* y, unsigned* runs) {
    unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
    if (first == 0) *runs += 1;
    for (unsigned i = first; i < n; i += gridDim.x * blockDim.x)
        if (i != hole) y[i] = x[i] * x[i];
}

// The sum of each block's share, by its first thread.
extern "C" __global__ void shares(unsigned n, unsigned parts, const float* x, float* sums) {
    if (threadIdx.x != 0 || blockIdx.x >= parts) return;
    float sum = 0;
    for (unsigned i = blockIdx.x; i < n; i += parts) sum += x[i];
    sums[blockIdx.x] = sum;
}

extern "C" __global__ void negate(unsigned n, const unsigned char* x, unsigned char* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = ~x[i];
}
