// One step of heat conduction: row r of v is row r + skip of u, which has `skip` rows more above and below.
// Row 0 of u is row `first` of the plate. The plate's border keeps its temperatures. So do the first and the
// last row of u, which lack a neighbour. Each thread computes one element, with the columns along x.
extern "C" __global__ void __launch_bounds__(1024)
conduct(unsigned int rows, unsigned int columns, unsigned int skip, int first, unsigned int height, float number,
        const float* __restrict__ u, float* __restrict__ v)
{
    size_t r = (size_t)blockIdx.y * blockDim.y + threadIdx.y;
    size_t c = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows || c >= columns) {
        return;
    }
    size_t row = r + skip;
    long long place = first + (long long)row;
    const float* here = u + row * columns + c;
    float value = *here;
    bool inside = place > 0 && place + 1 < height && c > 0 && c + 1 < columns;
    if (inside && row > 0 && row + 1 < rows + 2 * (size_t)skip) {
        const float* above = here - columns;
        const float* below = here + columns;
        value += number * ((*above + *below) + (here[-1] + here[1]) - 4.0f * value);
    }
    v[r * columns + c] = value;
}
