// Bytes of images as floats: (x / 255 - mean[c]) / deviation[c] for channel c.
//
// Every operation is rounded by itself, so that the bits are those of any IEEE 754 machine.

static __device__ __forceinline__ size_t global_x() { return (size_t)blockIdx.x * blockDim.x + threadIdx.x; }

static __device__ __forceinline__ float normalized(unsigned char x, float mean, float deviation)
{
    return __fdiv_rn(__fsub_rn(__fdiv_rn((float)x, 255.0f), mean), deviation);
}

// Channels stay interleaved. Each thread computes one channel of one pixel.
extern "C" __global__ void __launch_bounds__(1024)
normalize_hwc(unsigned int pixels, unsigned int channels, const float* __restrict__ mean, const float* __restrict__ deviation,
              const unsigned char* __restrict__ x, float* __restrict__ y)
{
    size_t i = global_x();
    if (i < (size_t)pixels * channels) {
        // A division of 64 bits takes several times that of 32.
        unsigned int c = i >> 32 ? (unsigned int)(i % channels) : (unsigned int)i % channels;
        y[i] = normalized(x[i], mean[c], deviation[c]);
    }
}

// Interleaved channels become planes, image by image. Each thread converts one pixel.
extern "C" __global__ void __launch_bounds__(1024)
normalize_chw(unsigned int images, unsigned int pixels, unsigned int channels, const float* __restrict__ mean,
              const float* __restrict__ deviation, const unsigned char* __restrict__ x, float* __restrict__ y)
{
    size_t i = global_x();
    if (i < (size_t)images * pixels) {
        size_t image = i >> 32 ? i / pixels : (unsigned int)i / pixels;
        size_t pixel = i - image * pixels;
        const unsigned char* from = x + i * channels;
        float* to = y + image * channels * pixels + pixel;
        for (unsigned int c = 0; c < channels; c++) {
            to[(size_t)c * pixels] = normalized(from[c], mean[c], deviation[c]);
        }
    }
}
