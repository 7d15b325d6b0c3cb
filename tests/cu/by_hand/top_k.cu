// The k largest of each row, and lists of them merged. Larger scores come first, equal ones by their index,
// NaN after all numbers.

// The most that a list holds.
#define MOST 1024
// Candidates that a block holds: a full list, and one more for each thread of the largest block.
#define ROOM (2 * MOST)
// The index of a place that no score fills.
#define NONE 0xffffffffu
#define UNROLL 4

// A score as a number that is larger the earlier the score comes: 1 for NaN; 0 is left for places without a
// score.
static __device__ __forceinline__ unsigned int rated(float score)
{
    if (score != score) {
        return 1;
    }
    const unsigned int bits = score == 0.0f ? 0 : __float_as_uint(score);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

// A score and its index as one number, larger the earlier it comes; different for different indices, so that
// the order of a sort does not depend on where the keys were before.
static __device__ __forceinline__ unsigned long long key(unsigned int rating, unsigned int index)
{
    return (unsigned long long)rating << 32 | ~index;
}

static __device__ __forceinline__ unsigned int rank_in_block()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

static __device__ __forceinline__ unsigned int threads_in_block() { return blockDim.x * blockDim.y * blockDim.z; }

static __device__ __forceinline__ size_t block_in_grid()
{
    return blockIdx.x + (size_t)gridDim.x * (blockIdx.y + (size_t)gridDim.y * blockIdx.z);
}

static __device__ __forceinline__ size_t blocks_in_grid() { return (size_t)gridDim.x * gridDim.y * gridDim.z; }

// The smallest power of two that is at least n.
static __device__ __forceinline__ unsigned int power_of_two(unsigned int n)
{
    return n <= 1 ? 1 : 1u << (32 - __clz(n - 1));
}

// Sorts the first `count` keys, the largest first, with all threads of the block, by a bitonic sort. It also
// writes zeros up to the next power of two.
static __device__ void sort(unsigned long long* keys, unsigned int count)
{
    const unsigned int size = power_of_two(count);
    for (unsigned int i = count + rank_in_block(); i < size; i += threads_in_block()) {
        keys[i] = 0;
    }
    // Whole warps only: 32 pairs at a distance of at most 32 are within the warp's own 64 keys, so that such
    // steps need to wait for the warp alone. A block smaller than a warp has all pairs in that one.
    const unsigned int threads = threads_in_block(), workers = threads < 32 ? threads : threads & ~31u;
    const unsigned int first = rank_in_block() < workers ? rank_in_block() : size;
    __syncthreads();
    for (unsigned int run = 2; run <= size; run *= 2) {
        for (unsigned int distance = run / 2; distance > 0; distance /= 2) {
            for (unsigned int pair = first; pair < size / 2; pair += workers) {
                const unsigned int low = 2 * pair - (pair & (distance - 1)), high = low + distance;
                const unsigned long long a = keys[low], b = keys[high];
                // Runs alternate between falling and rising; the last one falls.
                if ((a < b) == !(low & run)) {
                    keys[low] = b;
                    keys[high] = a;
                }
            }
            // The next step's distance is half of this one's, or, after a 1, as long as this run.
            if (distance > 32 || (distance == 1 && run > 32)) {
                __syncthreads();
            } else {
                __syncwarp();
            }
        }
    }
    __syncthreads();
}

// Each block searches one row. It collects the scores that may be among the k largest: those above the
// threshold, which is the k-th largest score at the time when the collection was last full. A full collection
// is sorted, and only its first k stay.
extern "C" __global__ void __launch_bounds__(1024)
top_k(unsigned int rows, unsigned int columns, unsigned int k,
      const float* __restrict__ scores, float* __restrict__ values, unsigned int* __restrict__ indices)
{
    __shared__ unsigned long long keys[ROOM];
    __shared__ unsigned int used;
    const unsigned int rank = rank_in_block(), threads = threads_in_block();
    if (k == 0 || k > MOST) {
        return;
    }
    // Small collections are sorted faster; with twice as much room as stays, they are not sorted too often.
    const unsigned int capacity = power_of_two(max(2 * k, k + threads));

    for (size_t row = block_in_grid(); row < rows; row += blocks_in_grid()) {
        const float* from = scores + row * columns;
        unsigned int threshold = 0;
        // The same number as in `used`, without reading it.
        unsigned int count = 0;
        if (rank == 0) {
            used = 0;
        }

        // A barrier comes before the first key: `used` is 0 by then, and the row before is written.
        for (size_t start = 0; start < columns; start += (size_t)UNROLL * threads) {
            unsigned int ratings[UNROLL];
            bool any = false;
            #pragma unroll
            for (unsigned int i = 0; i < UNROLL; i++) {
                const size_t column = start + i * threads + rank;
                ratings[i] = column < columns ? rated(from[column]) : 0;
                any |= ratings[i] > threshold;
            }
            if (!__syncthreads_or(any)) {
                continue;
            }
            #pragma unroll
            for (unsigned int i = 0; i < UNROLL; i++) {
                // A score that equals the threshold has an index above those of all k that are at least as
                // large.
                const bool enters = ratings[i] > threshold;
                const unsigned int more = __syncthreads_count(enters);
                if (count + more > capacity) {
                    sort(keys, count);
                    threshold = keys[k - 1] >> 32;
                    count = k;
                    if (rank == 0) {
                        used = k;
                    }
                    __syncthreads();
                }
                if (enters) {
                    keys[atomicAdd(&used, 1)] = key(ratings[i], (unsigned int)(start + i * threads + rank));
                }
                count += more;
            }
        }

        sort(keys, count);
        for (unsigned int i = rank; i < k; i += threads) {
            const unsigned int index = i < count ? ~(unsigned int)keys[i] : NONE;
            values[row * k + i] = i < count ? from[index] : __uint_as_float(0xff800000u);
            indices[row * k + i] = index;
        }
    }
}

// A list of one row in shared memory.
struct List {
    float scores[MOST];
    unsigned int indices[MOST];

    __device__ __forceinline__ unsigned long long at(unsigned int i) const
    {
        return indices[i] == NONE ? 0 : key(rated(scores[i]), indices[i]);
    }

    // How many of the first k come before `other`; with `ties`, also those that equal it.
    __device__ unsigned int before(unsigned long long other, bool ties, unsigned int k) const
    {
        unsigned int low = 0, high = k;
        while (low < high) {
            const unsigned int middle = (low + high) / 2;
            const unsigned long long mine = at(middle);
            if (mine > other || (ties && mine == other)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
};

// Each block merges one row. The place of each entry in the merged list is its place in its own list plus the
// number of entries of the other list before it.
extern "C" __global__ void __launch_bounds__(1024)
top_k_merge(unsigned int rows, unsigned int k, unsigned int offset,
            const float* __restrict__ values, const unsigned int* __restrict__ indices,
            float* __restrict__ best_values, unsigned int* __restrict__ best_indices)
{
    __shared__ List best, more;
    const unsigned int rank = rank_in_block(), threads = threads_in_block();
    if (k > MOST) {
        return;
    }
    for (size_t row = block_in_grid(); row < rows; row += blocks_in_grid()) {
        const size_t from = row * k;
        for (unsigned int i = rank; i < k; i += threads) {
            best.scores[i] = best_values[from + i];
            best.indices[i] = best_indices[from + i];
            more.scores[i] = values[from + i];
            const unsigned int index = indices[from + i];
            more.indices[i] = index == NONE ? NONE : index + offset;
        }
        __syncthreads();
        for (unsigned int i = rank; i < k; i += threads) {
            const unsigned int mine = i + more.before(best.at(i), false, k);
            if (mine < k) {
                best_values[from + mine] = best.scores[i];
                best_indices[from + mine] = best.indices[i];
            }
            const unsigned int theirs = i + best.before(more.at(i), true, k);
            if (theirs < k) {
                best_values[from + theirs] = more.scores[i];
                best_indices[from + theirs] = more.indices[i];
            }
        }
        __syncthreads();
    }
}
