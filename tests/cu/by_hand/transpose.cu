// y = x transposed, for each of `batch` matrices of rows x columns.
//
// A tile goes through shared memory, so that reads and writes are both along rows. The column of padding puts
// the elements of a tile's column into different banks. Every loop strides, so that any grid and block does
// all of the work.
#define TILE 32

extern "C" __global__ void __launch_bounds__(1024)
transpose(unsigned int batch, unsigned int rows, unsigned int columns,
          const float* __restrict__ x, float* __restrict__ y)
{
    __shared__ float tile[TILE][TILE + 1];
    const unsigned int rank = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned int threads = blockDim.x * blockDim.y * blockDim.z;

    for (size_t item = blockIdx.z; item < batch; item += gridDim.z) {
        const float* from = x + item * rows * columns;
        float* to = y + item * rows * columns;
        for (size_t top = (size_t)blockIdx.y * TILE; top < rows; top += (size_t)gridDim.y * TILE) {
            for (size_t left = (size_t)blockIdx.x * TILE; left < columns; left += (size_t)gridDim.x * TILE) {
                #pragma unroll 4
                for (unsigned int i = rank; i < TILE * TILE; i += threads) {
                    size_t row = top + i / TILE, column = left + i % TILE;
                    if (row < rows && column < columns) {
                        tile[i / TILE][i % TILE] = from[row * columns + column];
                    }
                }
                __syncthreads();
                #pragma unroll 4
                for (unsigned int i = rank; i < TILE * TILE; i += threads) {
                    size_t row = left + i / TILE, column = top + i % TILE;
                    if (row < columns && column < rows) {
                        to[row * rows + column] = tile[i % TILE][i / TILE];
                    }
                }
                // The next tile takes this one's place.
                __syncthreads();
            }
        }
    }
}
