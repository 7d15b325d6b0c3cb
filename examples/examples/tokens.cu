// Row i of `mean` is the mean of `length` rows of `x`, from row i * length on. One thread for each element of `mean`, which
// adds in the order of the rows, so that every device has the same bits.
extern "C" __global__ void mean_of_rows(unsigned int n, unsigned int length, unsigned int width, const float* x, float* mean)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (size_t)n * width) {
        const float* column = x + i / width * length * width + i % width;
        float sum = 0.0f;
        for (size_t row = 0; row < length; ++row) sum += column[row * width];
        mean[i] = sum / (float)length;
    }
}
