// Row i of `mean` is the mean of `length` rows of `x`, from row i * length on. Each thread computes one
// element of `mean` and adds in the order of the rows, so that every device has the same bits.
extern "C" __global__ void __launch_bounds__(1024)
mean_of_rows(unsigned int n, unsigned int length, unsigned int width, const float* __restrict__ x,
             float* __restrict__ mean)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (size_t)n * width) {
        // They have 32 bits, as the caller promises: a division of 64 bits costs more.
        unsigned int row_of_mean = (unsigned int)i / width, at = (unsigned int)i % width;
        const float* column = x + (size_t)row_of_mean * length * width + at;
        float sum = 0.0f;
        for (size_t row = 0; row < length; ++row) sum += column[row * width];
        mean[i] = sum / (float)length;
    }
}
