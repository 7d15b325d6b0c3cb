struct View {
    unsigned int n;
    float* data;
};

extern "C" __global__ void clear(View view) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < view.n) view.data[i] = 0.0f;
}
