// The steps before and after the Fourier transforms of a sound. Each thread computes one element.

// Frame i has `length` samples, from i * hop on: frames overlap, so that most samples are in several. Each is
// scaled to -1 .. 1 and weighted by the window.
extern "C" __global__ void __launch_bounds__(1024)
cut_frames(unsigned int n, unsigned int length, unsigned int hop, const short* __restrict__ samples,
           const float* __restrict__ window, float* __restrict__ frames)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        // A division of 32 bits costs less than one of 64.
        unsigned int frame = (unsigned int)i / length, at = (unsigned int)i % length;
        frames[i] = window[at] * ((float)samples[(size_t)frame * hop + at] / 32768.0f);
    }
}

struct Complex {
    float re, im;
};

// The power of each of n numbers, in dB, at least -140 dB. `unit` is the power that has 0 dB.
extern "C" __global__ void __launch_bounds__(1024)
to_decibels(unsigned int n, float unit, const Complex* __restrict__ spectra, float* __restrict__ decibels)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float power = (spectra[i].re * spectra[i].re + spectra[i].im * spectra[i].im) / unit;
        decibels[i] = 10.0f * log10f(fmaxf(power, 1e-14f));
    }
}
