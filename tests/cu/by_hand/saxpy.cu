// y[i] += a * x[i] for i < n. Each thread along x computes one element; threads along y and z would add
// again.
extern "C" __global__ void __launch_bounds__(1024)
saxpy(unsigned int n, float a, const float* __restrict__ x, float* __restrict__ y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && (blockIdx.y | blockIdx.z | threadIdx.y | threadIdx.z) == 0) {
        y[i] += a * x[i];
    }
}
