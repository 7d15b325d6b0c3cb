// peaks[i] is the largest of the 256 numbers x[256 * i] and on. A block of 256 threads finds one: its threads
// compare in pairs, in memory that they share.
extern "C" __global__ void __launch_bounds__(256)
peaks(unsigned int n, const float* x, float* peaks)
{
    __shared__ float largest[256];
    if (blockIdx.x >= n) return;
    largest[threadIdx.x] = x[256 * (size_t)blockIdx.x + threadIdx.x];
    for (unsigned int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            largest[threadIdx.x] = fmaxf(largest[threadIdx.x], largest[threadIdx.x + half]);
        }
    }
    if (threadIdx.x == 0) peaks[blockIdx.x] = largest[0];
}
