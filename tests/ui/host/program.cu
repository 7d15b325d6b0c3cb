extern "C" __global__ void scale(unsigned int n, float a, float* y) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= a;
}

int main() {
    float* y;
    cudaMalloc(&y, 4096);
    scale<<<4, 256>>>(1024, 2.0f, y);
    return cudaDeviceSynchronize();
}
