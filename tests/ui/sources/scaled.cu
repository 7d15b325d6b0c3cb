struct Params {
    unsigned int n;
    double a;
};

extern "C" __global__ void scaled(Params p, float* y) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n) y[i] *= p.a;
}
