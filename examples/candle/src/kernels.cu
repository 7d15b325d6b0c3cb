// Moves each element towards zero by `by`, and no further. Each thread computes one element.
extern "C" __global__ void shrink(unsigned int n, float by, float* x)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        x[i] = v > by ? v - by : v < -by ? v + by : 0.0f;
    }
}

// Converts bytes to numbers from 0 up to 1. Each thread computes one element.
extern "C" __global__ void widen(unsigned int n, const unsigned char* bytes, float* numbers)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        numbers[i] = bytes[i] * (1.0f / 256.0f);
    }
}
