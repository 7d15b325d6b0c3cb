// Kernels whose blocks know of each other.

// Each block of a cluster of two writes the rank of the other one.
extern "C" __global__ void partners(unsigned int n, unsigned int* y) {
    unsigned int rank, blocks;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = blocks - 1 - rank;
}

// Each block adds what all blocks have written before: a barrier of the whole grid stands between both.
// `arrived` begins as 0 and counts the blocks.
extern "C" __global__ void rounds(unsigned int n, unsigned int* arrived, unsigned int* x, unsigned int* y) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x) {}
    }
    __syncthreads();
    if (i < n) y[i] = x[i] + ((volatile unsigned int*)x)[n - 1 - i];
}
