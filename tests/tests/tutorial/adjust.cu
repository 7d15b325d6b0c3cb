// v[i] = gain * v[i] + offset for i < n, with a grid of any size: each thread takes every so-many-th sample.
extern "C" __global__ void __launch_bounds__(1024)
adjust(unsigned int n, float gain, float offset, float* v)
{
    size_t threads = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads) {
        v[i] = gain * v[i] + offset;
    }
}
