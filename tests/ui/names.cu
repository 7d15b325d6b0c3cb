// `y[i] *= a` four times, under names that generated code uses too.

extern "C" __global__ void pipeline(unsigned int n, float a, float* y) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= a;
}

extern "C" __global__ void run(unsigned int n, float a, float* y) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= a;
}

extern "C" __global__ void call(unsigned int n, float a, float* y) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= a;
}

extern "C" __global__ void scale(unsigned int n, float a, float* y) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= a;
}
