// Computes how much each pixel differs from the frame before, and keeps this frame for the next one. Each
// thread along x computes one pixel; threads along y and z would read `before` while it is written.
extern "C" __global__ void __launch_bounds__(1024)
difference(unsigned int n, const unsigned char* __restrict__ now, unsigned char* __restrict__ before,
           unsigned char* __restrict__ changed)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && (blockIdx.y | blockIdx.z | threadIdx.y | threadIdx.z) == 0) {
        int difference = (int)now[i] - (int)before[i];
        changed[i] = (unsigned char)(difference < 0 ? -difference : difference);
        before[i] = now[i];
    }
}
