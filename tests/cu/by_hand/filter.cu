// Filters of single-channel images; beyond the border lies the border's own pixel.
//
// Each thread computes one pixel: x goes along a row, y along a column and z through the images. Neighbouring
// threads read the same pixels, which the caches hold. Products and sums of floats are rounded one by one, in
// order, so the bits are the same on every device. Every loop strides, so that any grid and block does all of
// the work.

#define FOR(name, axis, end)                                                                                        \
    for (size_t name = (size_t)blockIdx.axis * blockDim.axis + threadIdx.axis; name < (end);                        \
         name += (size_t)gridDim.axis * blockDim.axis)

// The pixel `offset` - `back` beyond `at`, clamped to 0..length.
static __device__ __forceinline__ size_t clamped(size_t at, size_t offset, size_t back, size_t length)
{
    size_t sum = at + offset;
    return sum < back ? 0 : min(sum - back, length - 1);
}

// The weighted sum of the 2 radius + 1 pixels around the one at `at` of a line whose pixels are `stride`
// apart.
template <typename Pixel>
static __device__ __forceinline__ float
weighed(const Pixel* __restrict__ line, size_t stride, size_t length, size_t at, size_t radius,
        const float* __restrict__ weights)
{
    const size_t taps = 2 * radius + 1;
    float sum = 0.0f;
    if (at >= radius && at + radius < length) {
        const Pixel* first = line + (at - radius) * stride;
        for (size_t j = 0; j < taps; j++) {
            sum = __fadd_rn(sum, __fmul_rn(weights[j], (float)first[j * stride]));
        }
    } else {
        for (size_t j = 0; j < taps; j++) {
            sum = __fadd_rn(sum, __fmul_rn(weights[j], (float)line[clamped(at, j, radius, length) * stride]));
        }
    }
    return sum;
}

template <typename Pixel>
static __device__ __forceinline__ void
along_rows(unsigned int images, unsigned int rows, unsigned int columns, unsigned int radius,
           const float* __restrict__ weights, const Pixel* __restrict__ x, float* __restrict__ y)
{
    FOR(image, z, images) {
        FOR(row, y, rows) {
            const size_t line = (image * rows + row) * columns;
            FOR(column, x, columns) {
                y[line + column] = weighed(x + line, 1, columns, column, radius, weights);
            }
        }
    }
}

static __device__ __forceinline__ void put(float* y, float value) { *y = value; }

// Rounds to the nearest, ties to even; NaN becomes 0.
static __device__ __forceinline__ void put(unsigned char* y, float value)
{
    *y = (unsigned char)__float2uint_rn(fminf(fmaxf(value, 0.0f), 255.0f));
}

template <typename Pixel>
static __device__ __forceinline__ void
along_columns(unsigned int images, unsigned int rows, unsigned int columns, unsigned int radius,
              const float* __restrict__ weights, const float* __restrict__ x, Pixel* __restrict__ y)
{
    FOR(image, z, images) {
        const size_t from = image * rows * columns;
        FOR(row, y, rows) {
            FOR(column, x, columns) {
                put(y + from + row * columns + column,
                    weighed(x + from + column, columns, rows, row, radius, weights));
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024)
blur_rows_f32(unsigned int images, unsigned int rows, unsigned int columns, unsigned int radius,
          const float* __restrict__ weights, const float* __restrict__ x, float* __restrict__ y)
{
    along_rows(images, rows, columns, radius, weights, x, y);
}

extern "C" __global__ void __launch_bounds__(1024)
blur_rows_u8(unsigned int images, unsigned int rows, unsigned int columns, unsigned int radius,
             const float* __restrict__ weights, const unsigned char* __restrict__ x, float* __restrict__ y)
{
    along_rows(images, rows, columns, radius, weights, x, y);
}

extern "C" __global__ void __launch_bounds__(1024)
blur_columns_f32(unsigned int images, unsigned int rows, unsigned int columns, unsigned int radius,
             const float* __restrict__ weights, const float* __restrict__ x, float* __restrict__ y)
{
    along_columns(images, rows, columns, radius, weights, x, y);
}

extern "C" __global__ void __launch_bounds__(1024)
blur_columns_u8(unsigned int images, unsigned int rows, unsigned int columns, unsigned int radius,
                const float* __restrict__ weights, const float* __restrict__ x, unsigned char* __restrict__ y)
{
    along_columns(images, rows, columns, radius, weights, x, y);
}

// The sums of 2 radius + 1 pixels along rows.
extern "C" __global__ void __launch_bounds__(1024)
box_rows_u8(unsigned int images, unsigned int rows, unsigned int columns, unsigned int radius,
            const unsigned char* __restrict__ x, unsigned int* __restrict__ sums)
{
    const size_t taps = 2 * (size_t)radius + 1;
    FOR(image, z, images) {
        FOR(row, y, rows) {
            const size_t line = (image * rows + row) * columns;
            FOR(column, x, columns) {
                unsigned int sum = 0;
                if (column >= radius && column + radius < columns) {
                    const unsigned char* first = x + line + column - radius;
                    for (size_t j = 0; j < taps; j++) {
                        sum += first[j];
                    }
                } else {
                    for (size_t j = 0; j < taps; j++) {
                        sum += x[line + clamped(column, j, radius, columns)];
                    }
                }
                sums[line + column] = sum;
            }
        }
    }
}

// The eight neighbours of a pixel.
template <typename Pixel> struct Around {
    Pixel nw, n, ne, w, e, sw, s, se;

    __device__ __forceinline__ Around(const Pixel* image, size_t rows, size_t columns, size_t row, size_t column)
    {
        const Pixel* above = image + clamped(row, 0, 1, rows) * columns;
        const Pixel* here = image + row * columns;
        const Pixel* below = image + clamped(row, 2, 1, rows) * columns;
        const size_t left = clamped(column, 0, 1, columns), right = clamped(column, 2, 1, columns);
        nw = above[left], n = above[column], ne = above[right];
        w = here[left], e = here[right];
        sw = below[left], s = below[column], se = below[right];
    }
};

static __device__ __forceinline__ float one_two_one(float a, float b, float c)
{
    return __fadd_rn(__fadd_rn(a, __fmul_rn(2.0f, b)), c);
}

static __device__ __forceinline__ float length(float x, float y)
{
    return __fsqrt_rn(__fadd_rn(__fmul_rn(x, x), __fmul_rn(y, y)));
}

template <typename Pixel>
static __device__ __forceinline__ void
gradients(unsigned int images, unsigned int rows, unsigned int columns,
          const Pixel* __restrict__ x, Pixel* __restrict__ y)
{
    FOR(image, z, images) {
        const size_t from = image * rows * columns;
        FOR(row, y, rows) {
            FOR(column, x, columns) {
                // With bytes, everything below the square root is a whole number that a float holds.
                const Around<Pixel> p(x + from, rows, columns, row, column);
                const float dx = __fsub_rn(one_two_one(p.ne, p.e, p.se), one_two_one(p.nw, p.w, p.sw));
                const float dy = __fsub_rn(one_two_one(p.sw, p.s, p.se), one_two_one(p.nw, p.n, p.ne));
                put(y + from + row * columns + column, length(dx, dy));
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(1024)
sobel_f32(unsigned int images, unsigned int rows, unsigned int columns,
      const float* __restrict__ x, float* __restrict__ y)
{
    gradients(images, rows, columns, x, y);
}

extern "C" __global__ void __launch_bounds__(1024)
sobel_u8(unsigned int images, unsigned int rows, unsigned int columns,
         const unsigned char* __restrict__ x, unsigned char* __restrict__ y)
{
    gradients(images, rows, columns, x, y);
}
