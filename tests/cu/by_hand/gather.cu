// Row i of `out` is row index[i] of the table, or zeros where the table has no such row. Each thread copies
// one element of `out`, so that neighbouring threads read and write neighbouring elements.

template <class T>
static __device__ __forceinline__ void gather(unsigned int n, unsigned int width, unsigned int rows, const unsigned int* __restrict__ index,
                                              const T* __restrict__ table, T* __restrict__ out)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (size_t)n * width) {
        // A division of 64 bits takes several times that of 32.
        size_t row = i >> 32 ? i / width : (unsigned int)i / width;
        unsigned int from = index[row];
        out[i] = from < rows ? table[(size_t)from * width + (i - row * width)] : T(0);
    }
}

extern "C" __global__ void __launch_bounds__(1024)
gather_f32(unsigned int n, unsigned int width, unsigned int rows, const unsigned int* __restrict__ index,
           const float* __restrict__ table, float* __restrict__ out)
{
    gather(n, width, rows, index, table, out);
}

extern "C" __global__ void __launch_bounds__(1024)
gather_u32(unsigned int n, unsigned int width, unsigned int rows, const unsigned int* __restrict__ index,
           const unsigned int* __restrict__ table, unsigned int* __restrict__ out)
{
    gather(n, width, rows, index, table, out);
}
