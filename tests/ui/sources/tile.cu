extern "C" __global__ void turn(unsigned int n, float* y) {
    __shared__ float tile[128][128];
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tile[threadIdx.x][0] = y[i];
    __syncthreads();
    if (i < n) y[i] = tile[blockDim.x - 1 - threadIdx.x][0];
}
