// Kernels that refuse some launches.

extern "C" __global__ void __launch_bounds__(64) bounded(unsigned int n, float* y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += 1.0f;
}

// y[i] = x[i], by way of one float of dynamic shared memory a thread.
extern "C" __global__ void through_shared(unsigned int n, const float* x, float* y)
{
    extern __shared__ float tile[];
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        tile[threadIdx.x] = x[i];
        y[i] = tile[threadIdx.x];
    }
}

extern "C" __global__ void refuses(unsigned int n, const int* x, int* y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 1;
}

extern "C" __global__ void without_host_body(float* y)
{
    y[0] = 1.0f;
}
