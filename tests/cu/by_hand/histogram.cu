// A histogram: counts[b] grows by the number of elements in bin b. Counts are whole numbers, so that the order
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

static const unsigned int COPIES = 8;

// Dynamic shared memory of the launch, in bytes.
static __device__ __forceinline__ unsigned int dynamic_shared()
{
    unsigned int bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return bytes;
}

// The histogram of n floats, in `bins` bins of one width from `low` to `high`, both included. Other numbers
// and NaN are in no bin.
//
// The launch's shared memory holds as many copies of the bins as fit. If not even one fits, each element is
// added to `counts` by itself, which is slower and gives the same result.
extern "C" __global__ void __launch_bounds__(1024)
histogram_f32(unsigned int n, unsigned int bins, float low, float high, const float* __restrict__ x,
              unsigned int* __restrict__ counts)
{
    extern __shared__ unsigned int shared[];

    unsigned int thread = thread_of_block(), threads = threads_of_block();
    unsigned int room = dynamic_shared() / (unsigned int)sizeof(unsigned int);
    // Odd, so that the same bin of two copies is in two banks.
    unsigned int pitch = bins | 1;
    unsigned int copies = max(min(COPIES, room / pitch), room >= bins ? 1 : 0);
    for (unsigned int copy = 0; copy < copies; copy++) {
        for (unsigned int b = thread; b < bins; b += threads) {
            shared[copy * pitch + b] = 0;
        }
    }
    __syncthreads();

    unsigned int offset = copies > 0 ? thread % copies * pitch : 0;
    // This rounds as any IEEE 754 machine does, so that both devices put each element into the same bin.
    float per_unit = __fdiv_rn((float)bins, __fsub_rn(high, low));
    size_t stride = blocks_of_grid() * threads;
    for (size_t i = block_of_grid() * threads + thread; i < n && bins > 0; i += stride) {
        float value = x[i];
        if (low <= value && value <= high) {
            unsigned int bin = min((unsigned int)__fmul_rn(__fsub_rn(value, low), per_unit), bins - 1);
            if (copies > 0) {
                atomicAdd(&shared[offset + bin], 1);
            } else {
                atomicAdd(&counts[bin], 1);
            }
        }
    }
    __syncthreads();

    if (copies == 0) {
        return; // the whole grid
    }
    for (unsigned int b = thread; b < bins; b += threads) {
        unsigned int count = 0;
        for (unsigned int copy = 0; copy < copies; copy++) {
            count += shared[copy * pitch + b];
        }
        if (count > 0) {
            atomicAdd(&counts[b], count);
        }
    }
}
