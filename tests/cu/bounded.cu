// y[i] = x[i] + 1, in blocks of at most 128 threads.
extern "C" __global__ void __launch_bounds__(128) bounded(unsigned int n, const int* x, int* y)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] + 1;
    }
}
