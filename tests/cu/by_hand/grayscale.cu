// One byte of luma for three of RGB, by the weights of ITU-R BT.601 in 1/65536. It is exact in integers on
// every device.
extern "C" __global__ void __launch_bounds__(1024)
grayscale(unsigned int pixels, const unsigned char* __restrict__ rgb, unsigned char* __restrict__ luma)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels) {
        unsigned int r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
        luma[i] = (unsigned char)((19595u * r + 38470u * g + 7471u * b + 32768u) >> 16);
    }
}
