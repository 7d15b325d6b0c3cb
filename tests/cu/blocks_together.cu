// Blocks that know of each other: clusters, and grids that are on the device at once. It needs no header.

// Each block gets what the next one of its cluster has read: y[i] = x[i + blockDim] within the cluster.
template <int BLOCKS>
__global__ void rotate(unsigned n, const unsigned* x, unsigned* y) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ unsigned mine[];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    mine[threadIdx.x] = i < n ? x[i] : 0;
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    unsigned rank, blocks, address, value;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    unsigned next = (rank + 1) % BLOCKS;
    unsigned own = (unsigned)__cvta_generic_to_shared(&mine[threadIdx.x]);
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(own), "r"(next));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
    // No block may end while another reads its memory.
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    if (i < n) y[i] = blocks == BLOCKS ? value : ~0u;
#endif
}

// Says of itself what its clusters are, which earlier architectures cannot.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
extern "C" __global__ void __cluster_dims__(2, 1, 1) fixed(unsigned n, unsigned* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, blocks;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    if (i < n) y[i] = blocks;
}
#endif

// y[i] = x[i] + the sum of all x, with a barrier of the whole grid between. `state` is zero at first.
extern "C" __global__ void total(unsigned n, const unsigned* x, unsigned* state, unsigned* y) {
    unsigned first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    for (unsigned i = first; i < n; i += step) atomicAdd(&state[0], x[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&state[1], 1);
        while (atomicAdd(&state[1], 0) < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    unsigned sum = atomicAdd(&state[0], 0);
    for (unsigned i = first; i < n; i += step) y[i] = x[i] + sum;
}
