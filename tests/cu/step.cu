// `iterations` steps of v <- 0.999 v + 0.001, each a fused multiply-add: a kernel of any weight.

static __device__ float stepped(float v, unsigned iterations) {
    for (unsigned k = 0; k < iterations; k++) v = fmaf(v, 0.999f, 0.001f);
    return v;
}

// One thread an element.
extern "C" __global__ void step(unsigned n, unsigned iterations, const float* x, float* z) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = stepped(x[i], iterations);
}

// Four elements a thread and turn, with a grid of any size: for memory on the other side of the link, where
// few large accesses are under way at a time. `n` is a multiple of 4.
extern "C" __global__ void step4(unsigned n, unsigned iterations, const float* x, float* z) {
    const unsigned stride = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += stride) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        v.x = stepped(v.x, iterations);
        v.y = stepped(v.y, iterations);
        v.z = stepped(v.z, iterations);
        v.w = stepped(v.w, iterations);
        reinterpret_cast<float4*>(z)[i] = v;
    }
}

// z[i] is the sum of four elements of x.
extern "C" __global__ void shrink(unsigned n, const float* x, float* z) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    z[i] = (v.x + v.y) + (v.z + v.w);
}

// Four elements of z from one of x.
extern "C" __global__ void grow(unsigned n, const float* x, float* z) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) reinterpret_cast<float4*>(z)[i] = make_float4(x[i], 2.0f * x[i], 3.0f * x[i], 4.0f * x[i]);
}

// The largest element of x so far: each chunk needs the one before.
// One block; `best` has one element.
extern "C" __global__ void __launch_bounds__(1024) largest(unsigned n, const float* x, float* best) {
    __shared__ float shared[1024];
    float most = best[0];
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) most = fmaxf(most, x[i]);
    shared[threadIdx.x] = most;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) best[0] = shared[0];
}

// The largest element of x after so many steps, and of best[0]. One thread an element; none is negative, so
// that they compare as integers do.
extern "C" __global__ void tallest(unsigned n, unsigned iterations, const float* x, float* best) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int most = i < n ? __float_as_int(stepped(x[i], iterations)) : 0;
    for (int half = 16; half > 0; half /= 2) most = max(most, __shfl_xor_sync(~0u, most, half));
    if (threadIdx.x % 32 == 0) atomicMax(reinterpret_cast<int*>(best), most);
}

// The mean of each element and its two neighbours; x has one more on each side.
extern "C" __global__ void smooth(unsigned n, const float* x, float* z) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = (x[i] + x[i + 1] + x[i + 2]) / 3.0f;
}
