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
