// Kernels for the tests of declarations: what chunks see of their neighbours, and what they leave behind.

extern "C" __global__ void weigh(unsigned n, unsigned radius, const float* x, float* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (unsigned k = 0; k <= 2 * radius; ++k) {
            sum += (float)(k + 1) * x[i + k];
        }
        y[i] = sum;
    }
}

// By one thread.
extern "C" __global__ void summarise(unsigned n, const float* x, float* summary) {
    float sum = 0.0f;
    for (unsigned i = 0; i < n; ++i) {
        sum += x[i];
    }
    summary[0] = sum;
    summary[1] = (float)n;
}

extern "C" __global__ void plus_one(unsigned n, const float* x, float* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] + 1.0f;
    }
}
