// Temperatures from Fahrenheit to Celsius, no lower than `floor`. Each thread converts one element.
extern "C" __global__ void celsius(unsigned int n, float floor, const float* fahrenheit, float* celsius)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float degrees = (fahrenheit[i] - 32.0f) * 5.0f / 9.0f;
        celsius[i] = degrees < floor ? floor : degrees;
    }
}
