// Weighted sums of neighbours. Every product and every sum is rounded by itself, left to right, so the bits
// are the same on every device. Every loop strides, so that any grid and block does all of the work.

static __device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
static __device__ __forceinline__ float mul(float a, float b) { return __fmul_rn(a, b); }

// y[i] = w0 x[i] + w1 x[i + 1] + w2 x[i + 2]: x has one element more on either side.
extern "C" __global__ void __launch_bounds__(1024)
stencil_3(unsigned int n, float w0, float w1, float w2, const float* __restrict__ x, float* __restrict__ y)
{
    if (threadIdx.y | threadIdx.z | blockIdx.y | blockIdx.z) {
        return;
    }
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        y[i] = add(add(mul(w0, x[i]), mul(w1, x[i + 1])), mul(w2, x[i + 2]));
    }
}

// The same with five weights: x has two elements more on either side.
extern "C" __global__ void __launch_bounds__(1024)
stencil_5(unsigned int n, float w0, float w1, float w2, float w3, float w4,
          const float* __restrict__ x, float* __restrict__ y)
{
    if (threadIdx.y | threadIdx.z | blockIdx.y | blockIdx.z) {
        return;
    }
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
        float sum = add(add(mul(w0, x[i]), mul(w1, x[i + 1])), mul(w2, x[i + 2]));
        y[i] = add(add(sum, mul(w3, x[i + 3])), mul(w4, x[i + 4]));
    }
}

// One Jacobi step on rows of a grid that is `height` rows high, from row `first` on: v is the mean of u's
// four neighbours, and u itself on the grid's border. u has one row more above and below. The caches hold the
// rows that threads share.
extern "C" __global__ void __launch_bounds__(1024)
jacobi(unsigned int rows, unsigned int columns, unsigned int first, unsigned int height,
       const float* __restrict__ u, float* __restrict__ v)
{
    if (threadIdx.z | blockIdx.z) {
        return;
    }
    for (size_t r = (size_t)blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += (size_t)gridDim.y * blockDim.y) {
        const size_t row = first + r;
        const float* here = u + (r + 1) * columns;
        for (size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x; c < columns;
             c += (size_t)gridDim.x * blockDim.x) {
            float value = here[c];
            if (row > 0 && row + 1 < height && c > 0 && c + 1 < columns) {
                const float* above = here - columns;
                const float* below = here + columns;
                value = mul(0.25f, add(add(above[c], below[c]), add(here[c - 1], here[c + 1])));
            }
            v[r * columns + c] = value;
        }
    }
}
