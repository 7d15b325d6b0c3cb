// The second half of a box blur of images; beyond the border lies the border's own pixel.
//
// Each thread computes pixels of one column: x goes along a row, y along a column and z through the images. Every
// loop strides, so that any grid and block does all of the work.

#define FOR(name, axis, end)                                                                                        \
    for (size_t name = (size_t)blockIdx.axis * blockDim.axis + threadIdx.axis; name < (end);                        \
         name += (size_t)gridDim.axis * blockDim.axis)

// The pixel `offset` - `back` beyond `at`, clamped to 0..length.
static __device__ __forceinline__ size_t clamped(size_t at, size_t offset, size_t back, size_t length)
{
    size_t sum = at + offset;
    return sum < back ? 0 : min(sum - back, length - 1);
}

// Rows that one thread walks down.
#define WALK 32

// The means of (2 radius + 1)^2 pixels from the sums along rows. A thread walks down a column: it adds the
// sum that comes into the window and takes off the one that leaves it.
extern "C" __global__ void __launch_bounds__(1024)
box_columns_u8(unsigned int images, unsigned int rows, unsigned int columns, unsigned int radius,
               const unsigned int* __restrict__ sums, unsigned char* __restrict__ y)
{
    const size_t taps = 2 * (size_t)radius + 1;
    const unsigned int area = (unsigned int)(taps * taps);
    FOR(image, z, images) {
        const size_t from = image * rows * columns;
        FOR(walk, y, ((size_t)rows + WALK - 1) / WALK) {
            const size_t top = walk * WALK, bottom = min(top + WALK, (size_t)rows);
            FOR(column, x, columns) {
                const unsigned int* line = sums + from + column;
                unsigned int sum = 0;
                for (size_t j = 0; j < taps; j++) {
                    sum += line[clamped(top, j, radius, rows) * columns];
                }
                for (size_t row = top; row < bottom; row++) {
                    y[from + row * columns + column] = (unsigned char)((sum + area / 2) / area);
                    sum += line[clamped(row + 1, taps - 1, radius, rows) * columns];
                    sum -= line[clamped(row, 0, radius, rows) * columns];
                }
            }
        }
    }
}
