// Histograms: counts[b] grows by the number of elements in bin b. Counts are whole numbers, so that the order
// of the additions does not matter. Any grid and block will do: threads go on until all elements are counted.
//
// Each block counts in shared memory and adds to `counts` once. There are several copies of the bins in it,
// so that lanes of a warp that meet the same value seldom wait for each other.

static __device__ __forceinline__ unsigned int threads_of_block() { return blockDim.x * blockDim.y * blockDim.z; }

static __device__ __forceinline__ unsigned int thread_of_block()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

static __device__ __forceinline__ size_t blocks_of_grid() { return (size_t)gridDim.x * gridDim.y * gridDim.z; }

static __device__ __forceinline__ size_t block_of_grid()
{
    return blockIdx.x + (size_t)gridDim.x * (blockIdx.y + (size_t)gridDim.y * blockIdx.z);
}

static const unsigned int BYTES = 256; // values of a byte
static const unsigned int COPIES = 8;
// One more than the bins, so that the same bin of two copies is in two banks.
static const unsigned int PITCH = BYTES + 1;

// The histogram of n bytes.
extern "C" __global__ void __launch_bounds__(1024)
histogram_u8(unsigned int n, const unsigned char* __restrict__ x, unsigned int* __restrict__ counts)
{
    __shared__ unsigned int bins[COPIES * PITCH];

    unsigned int thread = thread_of_block(), threads = threads_of_block();
    for (unsigned int b = thread; b < COPIES * PITCH; b += threads) {
        bins[b] = 0;
    }
    __syncthreads();

    unsigned int* mine = bins + thread % COPIES * PITCH;
    size_t first = block_of_grid() * threads + thread;
    size_t stride = blocks_of_grid() * threads;
    // Reads 16 bytes at once where x is aligned to them; before and after that, byte by byte.
    size_t head = min((size_t)n, (size_t)(-(size_t)x % sizeof(uint4)));
    size_t words = (n - head) / sizeof(uint4);
    const uint4* wide = (const uint4*)(x + head);
    for (size_t i = first; i < head; i += stride) {
        atomicAdd(&mine[x[i]], 1);
    }
    for (size_t i = first; i < words; i += stride) {
        uint4 word = wide[i];
        unsigned int four[] = {word.x, word.y, word.z, word.w};
#pragma unroll
        for (unsigned int k = 0; k < 4; k++) {
            atomicAdd(&mine[four[k] & 255], 1);
            atomicAdd(&mine[four[k] >> 8 & 255], 1);
            atomicAdd(&mine[four[k] >> 16 & 255], 1);
            atomicAdd(&mine[four[k] >> 24], 1);
        }
    }
    for (size_t i = head + words * sizeof(uint4) + first; i < n; i += stride) {
        atomicAdd(&mine[x[i]], 1);
    }
    __syncthreads();

    for (unsigned int b = thread; b < BYTES; b += threads) {
        unsigned int count = 0;
        for (unsigned int copy = 0; copy < COPIES; copy++) {
            count += bins[copy * PITCH + b];
        }
        if (count > 0) {
            atomicAdd(&counts[b], count);
        }
    }
}
