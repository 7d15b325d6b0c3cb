// Maps: element i of the result depends on element i of the arguments alone. Each thread along x computes one
// element. Each kernel is a template, for `float` and for `double`.
//
// `__fadd_rn` and its like are each rounded by themselves, whereas the compiler would fuse a product and a
// sum. So the bits are those of any IEEE 754 machine. All of these kernels wait for memory, so this costs
// nothing.

static __device__ __forceinline__ float sum(float x, float y) { return __fadd_rn(x, y); }
static __device__ __forceinline__ double sum(double x, double y) { return __dadd_rn(x, y); }

static __device__ __forceinline__ float product(float x, float y) { return __fmul_rn(x, y); }
static __device__ __forceinline__ double product(double x, double y) { return __dmul_rn(x, y); }

static __device__ __forceinline__ float root(float x) { return __fsqrt_rn(x); }
static __device__ __forceinline__ double root(double x) { return __dsqrt_rn(x); }

static __device__ __forceinline__ float power_of_e(float x) { return expf(x); }
static __device__ __forceinline__ double power_of_e(double x) { return exp(x); }

static __device__ __forceinline__ size_t global_x() { return (size_t)blockIdx.x * blockDim.x + threadIdx.x; }

// y[i] = a * x[i] + b
template <typename T>
__global__ void __launch_bounds__(1024)
scale(unsigned int n, T a, T b, const T* __restrict__ x, T* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = sum(product(a, x[i]), b);
    }
}

// z[i] = x[i] + y[i]
template <typename T>
__global__ void __launch_bounds__(1024)
add(unsigned int n, const T* __restrict__ x, const T* __restrict__ y, T* __restrict__ z)
{
    size_t i = global_x();
    if (i < n) {
        z[i] = sum(x[i], y[i]);
    }
}

// z[i] = x[i] * y[i]
template <typename T>
__global__ void __launch_bounds__(1024)
multiply(unsigned int n, const T* __restrict__ x, const T* __restrict__ y, T* __restrict__ z)
{
    size_t i = global_x();
    if (i < n) {
        z[i] = product(x[i], y[i]);
    }
}

// y[i] = e^x[i]
template <typename T>
__global__ void __launch_bounds__(1024)
exponential(unsigned int n, const T* __restrict__ x, T* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = power_of_e(x[i]);
    }
}

// y[i] = the square root of x[i]
template <typename T>
__global__ void __launch_bounds__(1024)
square_root(unsigned int n, const T* __restrict__ x, T* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = root(x[i]);
    }
}

// y[i] = x[i], or 0 if that is negative. NaN is not less than anything, so it stays.
template <typename T>
__global__ void __launch_bounds__(1024)
relu(unsigned int n, const T* __restrict__ x, T* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = x[i] < T(0) ? T(0) : x[i];
    }
}

// y[i] = x[i], or the bound that it is beyond. NaN is beyond neither.
template <typename T>
__global__ void __launch_bounds__(1024)
clamp(unsigned int n, T low, T high, const T* __restrict__ x, T* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = x[i] < low ? low : x[i] > high ? high : x[i];
    }
}

// y[i] += a * x[i]: `saxpy` on doubles. Threads along y and z would add again.
extern "C" __global__ void __launch_bounds__(1024)
daxpy(unsigned int n, double a, const double* __restrict__ x, double* __restrict__ y)
{
    size_t i = global_x();
    if (i < n && (blockIdx.y | blockIdx.z | threadIdx.y | threadIdx.z) == 0) {
        y[i] = sum(product(a, x[i]), y[i]);
    }
}
