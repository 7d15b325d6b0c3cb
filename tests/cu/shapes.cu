// Kernels whose items have several elements, or whose threads have several axes.

// sums[i] is the sum of the k elements of row i, and of each product with 0 .. copies.
extern "C" __global__ void sum_rows(unsigned int rows, unsigned int k, unsigned int copies, const float* x, float* sums)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        float sum = 0.0f;
        for (unsigned int j = 0; j < k; j++) sum += x[i * k + j];
        for (unsigned int j = 0; j < copies; j++) sums[i * copies + j] = sum * j;
    }
}

// Two numbers for each: the number itself and its square.
extern "C" __global__ void with_square(unsigned int n, const int* x, long long* pairs)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        pairs[2 * i] = x[i];
        pairs[2 * i + 1] = (long long)x[i] * x[i];
    }
}

extern "C" __global__ void sum_pairs(unsigned int n, const long long* pairs, long long* sums)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) sums[i] = pairs[2 * i] + pairs[2 * i + 1];
}

// first, first + step, …
extern "C" __global__ void count_up(unsigned int n, unsigned long long first, unsigned long long step, unsigned long long* z)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = first + i * step;
}

// Each pixel gets its place: 1000 * row + column.
extern "C" __global__ void paint(unsigned int width, unsigned int first_row, unsigned int rows, unsigned int* pixels)
{
    unsigned int column = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width && row < rows) pixels[(size_t)row * width + column] = 1000 * (first_row + row) + column;
}
