// What is done to spectra between two transforms. One thread a number.

struct Complex {
    float re, im;
};

// Multiplies each of n numbers by its bin's element of the mask; a spectrum has so many bins.
extern "C" __global__ void masked(unsigned int n, unsigned int bins, const float* mask, Complex* spectrum)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        spectrum[i].re *= mask[i % bins];
        spectrum[i].im *= mask[i % bins];
    }
}
