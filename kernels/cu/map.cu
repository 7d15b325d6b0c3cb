// Maps: element i of the result depends on element i of the arguments alone. One thread an element, along x.
//
// `__fadd_rn` and its like are rounded each by itself, where the compiler would otherwise fuse a product and a sum: so
// the bits are those of any IEEE 754 machine. All of these kernels wait for memory, so that it costs nothing.

static __device__ __forceinline__ size_t global_x() { return (size_t)blockIdx.x * blockDim.x + threadIdx.x; }

// y[i] = a * x[i] + b
extern "C" __global__ void __launch_bounds__(1024)
scale_f32(unsigned int n, float a, float b, const float* __restrict__ x, float* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = __fadd_rn(__fmul_rn(a, x[i]), b);
    }
}

// z[i] = x[i] + y[i]
extern "C" __global__ void __launch_bounds__(1024)
add_f32(unsigned int n, const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ z)
{
    size_t i = global_x();
    if (i < n) {
        z[i] = __fadd_rn(x[i], y[i]);
    }
}

// z[i] = x[i] * y[i]
extern "C" __global__ void __launch_bounds__(1024)
multiply_f32(unsigned int n, const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ z)
{
    size_t i = global_x();
    if (i < n) {
        z[i] = __fmul_rn(x[i], y[i]);
    }
}

// y[i] = e^x[i]
extern "C" __global__ void __launch_bounds__(1024)
exp_f32(unsigned int n, const float* __restrict__ x, float* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = expf(x[i]);
    }
}

// y[i] = the square root of x[i]
extern "C" __global__ void __launch_bounds__(1024)
sqrt_f32(unsigned int n, const float* __restrict__ x, float* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = __fsqrt_rn(x[i]);
    }
}

// y[i] = x[i] where that is not negative, else 0. NaN is not less than anything: it stays.
extern "C" __global__ void __launch_bounds__(1024)
relu_f32(unsigned int n, const float* __restrict__ x, float* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = x[i] < 0.0f ? 0.0f : x[i];
    }
}

// y[i] = x[i], or the bound that it is beyond. NaN is beyond none.
extern "C" __global__ void __launch_bounds__(1024)
clamp_f32(unsigned int n, float low, float high, const float* __restrict__ x, float* __restrict__ y)
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
        y[i] = __dadd_rn(__dmul_rn(a, x[i]), y[i]);
    }
}

// y[i] = a * x[i] + b
extern "C" __global__ void __launch_bounds__(1024)
scale_f64(unsigned int n, double a, double b, const double* __restrict__ x, double* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = __dadd_rn(__dmul_rn(a, x[i]), b);
    }
}

// z[i] = x[i] + y[i]
extern "C" __global__ void __launch_bounds__(1024)
add_f64(unsigned int n, const double* __restrict__ x, const double* __restrict__ y, double* __restrict__ z)
{
    size_t i = global_x();
    if (i < n) {
        z[i] = __dadd_rn(x[i], y[i]);
    }
}

// z[i] = x[i] * y[i]
extern "C" __global__ void __launch_bounds__(1024)
multiply_f64(unsigned int n, const double* __restrict__ x, const double* __restrict__ y, double* __restrict__ z)
{
    size_t i = global_x();
    if (i < n) {
        z[i] = __dmul_rn(x[i], y[i]);
    }
}

// y[i] = e^x[i]
extern "C" __global__ void __launch_bounds__(1024)
exp_f64(unsigned int n, const double* __restrict__ x, double* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = exp(x[i]);
    }
}

// y[i] = the square root of x[i]
extern "C" __global__ void __launch_bounds__(1024)
sqrt_f64(unsigned int n, const double* __restrict__ x, double* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = __dsqrt_rn(x[i]);
    }
}

// y[i] = x[i] where that is not negative, else 0. NaN is not less than anything: it stays.
extern "C" __global__ void __launch_bounds__(1024)
relu_f64(unsigned int n, const double* __restrict__ x, double* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = x[i] < 0.0 ? 0.0 : x[i];
    }
}

// y[i] = x[i], or the bound that it is beyond. NaN is beyond none.
extern "C" __global__ void __launch_bounds__(1024)
clamp_f64(unsigned int n, double low, double high, const double* __restrict__ x, double* __restrict__ y)
{
    size_t i = global_x();
    if (i < n) {
        y[i] = x[i] < low ? low : x[i] > high ? high : x[i];
    }
}
