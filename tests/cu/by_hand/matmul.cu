// C = A x B, row by row: A is m x k, B is k x n, C is m x n.
//
// A block of 256 threads makes a tile of 128 x 128 elements of C, each thread 8 x 8 of them in registers.
// Strips of A and B, 8 deep, go through shared memory, two of each: while one is used, the next is loaded. A
// strip of A lies there transposed, so that a thread finds four of its rows in a row; four floats of padding
// keep both its writes and its reads free of bank conflicts.
//
// Each element is one chain of fused multiply-adds over k in ascending order, whichever thread computes it:
// its bits depend on neither grid nor block.
#define TILE 128
#define DEPTH 8
#define THREADS 256
#define PADDED (TILE + 4)
// Elements of a strip that a thread loads.
#define LOADS (TILE * DEPTH / THREADS)

struct Shared {
    __align__(16) float a[2][DEPTH][PADDED];
    __align__(16) float b[2][DEPTH][PADDED];
};

// The values that a thread moves from global to shared memory.
struct Strip {
    float a[LOADS], b[LOADS];
};

static __device__ __forceinline__ void
load(Strip& strip, const float* __restrict__ a, const float* __restrict__ b, unsigned int rank, size_t top, size_t left,
     size_t from, unsigned int m, unsigned int n, unsigned int k)
{
    #pragma unroll
    for (unsigned int i = 0; i < LOADS; i++) {
        unsigned int at = rank + i * THREADS;
        size_t row = top + at / DEPTH, inner = from + at % DEPTH;
        // Zeros beyond the border only reach elements beyond it, or add nothing to a sum that is complete.
        strip.a[i] = row < m && inner < k ? a[row * k + inner] : 0.0f;
        size_t column = left + at % TILE;
        inner = from + at / TILE;
        strip.b[i] = column < n && inner < k ? b[inner * n + column] : 0.0f;
    }
}

static __device__ __forceinline__ void store(const Strip& strip, Shared& shared, unsigned int half, unsigned int rank)
{
    #pragma unroll
    for (unsigned int i = 0; i < LOADS; i++) {
        unsigned int at = rank + i * THREADS;
        shared.a[half][at % DEPTH][at / DEPTH] = strip.a[i];
        shared.b[half][at / TILE][at % TILE] = strip.b[i];
    }
}

// Eight values from shared memory: four at `at`, four half a tile further.
static __device__ __forceinline__ void eight(float (&out)[8], const float* line, unsigned int at)
{
    const float4 low = *(const float4*)(line + at), high = *(const float4*)(line + TILE / 2 + at);
    out[0] = low.x; out[1] = low.y; out[2] = low.z; out[3] = low.w;
    out[4] = high.x; out[5] = high.y; out[6] = high.z; out[7] = high.w;
}

extern "C" __global__ void __launch_bounds__(256)
matmul(unsigned int m, unsigned int n, unsigned int k,
       const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c)
{
    __shared__ Shared shared;
    const unsigned int rank = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
    const size_t block = blockIdx.x + (size_t)gridDim.x * (blockIdx.y + (size_t)gridDim.y * blockIdx.z);
    const size_t blocks = (size_t)gridDim.x * gridDim.y * gridDim.z;

    if (threads != THREADS) {
        // The tiles are not made for this block, so it computes element by element, which is slower.
        for (size_t i = block * threads + rank; i < (size_t)m * n; i += blocks * threads) {
            float sum = 0.0f;
            for (size_t inner = 0; inner < k; inner++) {
                sum = fmaf(a[i / n * k + inner], b[inner * n + i % n], sum);
            }
            c[i] = sum;
        }
        return;
    }

    const size_t across = ((size_t)n + TILE - 1) / TILE, tiles = ((size_t)m + TILE - 1) / TILE * across;
    const unsigned int x = rank % 16 * 4, y = rank / 16 * 4;
    for (size_t tile = block; tile < tiles; tile += blocks) {
        const size_t top = tile / across * TILE, left = tile % across * TILE;
        float sums[8][8] = {};
        Strip strip;
        load(strip, a, b, rank, top, left, 0, m, n, k);
        store(strip, shared, 0, rank);
        __syncthreads();

        unsigned int half = 0;
        for (size_t from = 0; from < k; from += DEPTH) {
            const bool more = from + DEPTH < k;
            if (more) {
                load(strip, a, b, rank, top, left, from + DEPTH, m, n, k);
            }
            #pragma unroll
            for (unsigned int inner = 0; inner < DEPTH; inner++) {
                float rows[8], columns[8];
                eight(rows, shared.a[half][inner], y);
                eight(columns, shared.b[half][inner], x);
                #pragma unroll
                for (unsigned int i = 0; i < 8; i++) {
                    #pragma unroll
                    for (unsigned int j = 0; j < 8; j++) {
                        sums[i][j] = fmaf(rows[i], columns[j], sums[i][j]);
                    }
                }
            }
            if (more) {
                // The other half, which no thread has read since the barrier before.
                half ^= 1;
                store(strip, shared, half, rank);
            }
            __syncthreads();
        }

        #pragma unroll
        for (unsigned int i = 0; i < 8; i++) {
            const size_t row = top + y + i % 4 + i / 4 * (TILE / 2);
            #pragma unroll
            for (unsigned int j = 0; j < 8; j++) {
                const size_t column = left + x + j % 4 + j / 4 * (TILE / 2);
                if (row < m && column < n) {
                    c[row * n + column] = sums[i][j];
                }
            }
        }
    }
}
