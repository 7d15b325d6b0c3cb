// Templates, and a kernel that C++ names.

namespace math {

template <typename T, int N = 2>
__global__ void __launch_bounds__(64 * N) power(unsigned int n, const T* x, T* y) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    T result = x[i];
    for (int k = 1; k < N; k++) result *= x[i];
    y[i] = result;
}

__global__ void negate(unsigned int n, float* y) {
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = -y[i];
}

}
