// Sums and products as much code has them: what is only read is not `const`.

// y[i] = x[i] + b for i < n. One thread an element.
extern "C" __global__ void shifted(unsigned int n, float b, float* x, float* y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + b;
}

// y[i] = a * x[i] for i < n. One thread an element.
extern "C" __global__ void scaled(unsigned int n, float a, float* x, float* y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
