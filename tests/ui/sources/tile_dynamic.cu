extern "C" __global__ void turn(unsigned int n, float* y) {
    extern __shared__ float tile[];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tile[threadIdx.x] = y[i];
    __syncthreads();
    if (i < n) y[i] = tile[blockDim.x - 1 - threadIdx.x];
}
