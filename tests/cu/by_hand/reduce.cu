// Reductions: each block leaves one part, part b of `parts`; one block and one part give a single value.
//
// The order of the operations follows from the launch alone, so that the same launch gives the same bits on
// every run and every device: thread t of the T in the working blocks takes elements t, t + T, t + 2 T, …;
// then a tree over the lanes of each warp; then a tree over the block's warps. There are no atomics. Wide
// loads would make the order depend on the address of x, so there are none: unrolled, the loop has enough
// loads in flight.
//
// Grids and blocks may have any shape: only the numbers of threads and blocks count. Blocks beyond `parts` do
// nothing, and parts beyond the blocks become the result of no elements.

static const unsigned int WARP = 32;

struct Sum {
    static __device__ __forceinline__ double none() { return 0.0; }
    static __device__ __forceinline__ double join(double a, double b) { return __dadd_rn(a, b); }
};

static __device__ __forceinline__ float infinity(float) { return __int_as_float(0x7f800000); }
static __device__ __forceinline__ double infinity(double) { return __longlong_as_double(0x7ff0000000000000ll); }

// Whether the sign bit is set, as it is for -0.
static __device__ __forceinline__ bool is_negative(float x) { return __float_as_int(x) < 0; }
static __device__ __forceinline__ bool is_negative(double x) { return __double_as_longlong(x) < 0; }

// IEEE 754-2019 `minimum`: any NaN wins, and -0 is less than 0.
template <class T> struct Min {
    static __device__ __forceinline__ T none() { return infinity(T()); }
    static __device__ __forceinline__ T join(T a, T b)
    {
        return a < b || a != a || (a == b && is_negative(a)) ? a : b;
    }
};

// IEEE 754-2019 `maximum`.
template <class T> struct Max {
    static __device__ __forceinline__ T none() { return -infinity(T()); }
    static __device__ __forceinline__ T join(T a, T b)
    {
        return a > b || a != a || (a == b && !is_negative(a)) ? a : b;
    }
};

// Joins the values of a warp's first `lanes` lanes. The first lane gets the result. Every lane in `mask`
// calls it.
template <class Op, class T>
static __device__ __forceinline__ T over_lanes(T value, unsigned int mask, unsigned int lane, unsigned int lanes)
{
    for (unsigned int offset = WARP / 2; offset > 0; offset /= 2) {
        T other = __shfl_down_sync(mask, value, offset);
        // The value from a lane that is not there is undefined, and is not used.
        if (lane + offset < lanes) {
            value = Op::join(value, other);
        }
    }
    return value;
}

// `element(i)` gives element i of `n`.
template <class Op, class T, class F>
static __device__ __forceinline__ void reduce(unsigned int n, unsigned int parts, T* __restrict__ result, F element)
{
    __shared__ T of_warp[WARP];

    unsigned long long blocks = (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    unsigned long long block = blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    if (block >= parts) {
        return; // the whole block
    }
    unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
    size_t working = blocks < parts ? blocks : parts;
    size_t first = block * threads + thread;
    size_t stride = working * threads;

    T value = Op::none();
#pragma unroll 4
    for (size_t i = first; i < n; i += stride) {
        value = Op::join(value, element(i));
    }

    unsigned int lane = thread % WARP, warp = thread / WARP;
    unsigned int warps = (threads + WARP - 1) / WARP;
    // The last warp may have fewer lanes.
    unsigned int lanes = min(WARP, threads - warp * WARP);
    unsigned int mask = 0xffffffffu >> (WARP - lanes);
    value = over_lanes<Op>(value, mask, lane, lanes);
    if (lane == 0) {
        of_warp[warp] = value;
    }
    __syncthreads();
    if (warp == 0) {
        value = over_lanes<Op>(lane < warps ? of_warp[lane] : Op::none(), mask, lane, warps);
        if (lane == 0) {
            result[block] = value;
        }
    }
    for (size_t part = working + first; part < parts; part += stride) {
        result[part] = Op::none();
    }
}

// The sum of n floats, in doubles.
extern "C" __global__ void __launch_bounds__(1024)
sum_f32(unsigned int n, unsigned int parts, const float* __restrict__ x, double* __restrict__ sums)
{
    reduce<Sum>(n, parts, sums, [=](size_t i) { return (double)x[i]; });
}

extern "C" __global__ void __launch_bounds__(1024)
sum_f64(unsigned int n, unsigned int parts, const double* __restrict__ x, double* __restrict__ sums)
{
    reduce<Sum>(n, parts, sums, [=](size_t i) { return x[i]; });
}

// The sum of x[i] * y[i], in doubles, in which the products of floats are exact.
extern "C" __global__ void __launch_bounds__(1024)
dot_f32(unsigned int n, unsigned int parts, const float* __restrict__ x, const float* __restrict__ y, double* __restrict__ sums)
{
    reduce<Sum>(n, parts, sums, [=](size_t i) { return __dmul_rn(x[i], y[i]); });
}

extern "C" __global__ void __launch_bounds__(1024)
dot_f64(unsigned int n, unsigned int parts, const double* __restrict__ x, const double* __restrict__ y, double* __restrict__ sums)
{
    reduce<Sum>(n, parts, sums, [=](size_t i) { return __dmul_rn(x[i], y[i]); });
}

extern "C" __global__ void __launch_bounds__(1024)
min_f32(unsigned int n, unsigned int parts, const float* __restrict__ x, float* __restrict__ least)
{
    reduce<Min<float>>(n, parts, least, [=](size_t i) { return x[i]; });
}

extern "C" __global__ void __launch_bounds__(1024)
min_f64(unsigned int n, unsigned int parts, const double* __restrict__ x, double* __restrict__ least)
{
    reduce<Min<double>>(n, parts, least, [=](size_t i) { return x[i]; });
}

extern "C" __global__ void __launch_bounds__(1024)
max_f32(unsigned int n, unsigned int parts, const float* __restrict__ x, float* __restrict__ greatest)
{
    reduce<Max<float>>(n, parts, greatest, [=](size_t i) { return x[i]; });
}

extern "C" __global__ void __launch_bounds__(1024)
max_f64(unsigned int n, unsigned int parts, const double* __restrict__ x, double* __restrict__ greatest)
{
    reduce<Max<double>>(n, parts, greatest, [=](size_t i) { return x[i]; });
}
