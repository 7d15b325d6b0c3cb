// y[i] += a * x[i] for i < n. One thread an element.
extern "C" __global__ void __launch_bounds__(1024)
saxpy(unsigned int n, float a, const float* __restrict__ x, float* __restrict__ y)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += a * x[i];
    }
}
