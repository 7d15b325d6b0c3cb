// Matrix products out of CUTLASS's parts. All matrices are row-major.
#include <cutlass/epilogue/thread/linear_combination.h>
#include <cutlass/epilogue/thread/linear_combination_relu.h>
#include <cutlass/gemm/kernel/default_gemm.h>
#include <cutlass/gemm/threadblock/threadblock_swizzle.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error "these kernels need compute capability 8.0: CUTLASS would leave out what an older GPU lacks"
#endif

using Row = cutlass::layout::RowMajor;
using Swizzle = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>;

// A launch with another block or with too little shared memory is an error, and touches nothing.
template <typename Gemm>
__device__ void expect_launch() {
    unsigned shared;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared));
    bool fits = shared >= sizeof(typename Gemm::SharedStorage);
    if (!fits || blockDim.x != Gemm::kThreadCount || blockDim.y != 1 || blockDim.z != 1) __trap();
}

// ANCHOR: sgemm
// A block of 256 threads makes a tile of 128 x 128, 8 of `k` at a time, and loads 4 of these steps ahead.
using Sgemm = cutlass::gemm::kernel::DefaultGemm<
    float, Row, 1, float, Row, 1, float, Row, float,  // A, B and C with the elements in one access; the sums
    cutlass::arch::OpClassSimt, cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<128, 128, 8>, cutlass::gemm::GemmShape<32, 64, 8>, cutlass::gemm::GemmShape<1, 1, 1>,
    cutlass::epilogue::thread::LinearCombination<float, 1, float, float>,
    Swizzle, 4, false, cutlass::arch::OpMultiplyAdd>::GemmKernel;

// What the launch says of the kernel.
static_assert(Sgemm::kThreadCount == 256 && sizeof(Sgemm::SharedStorage) == 32768, "the block, and its shared memory");

// `c = alpha * a * b + beta * c`, `m` x `n`, with `k` columns in `a` and rows in `b`.
extern "C" __global__ void __launch_bounds__(256) cutlass_sgemm(
    unsigned m, unsigned n, unsigned k, float alpha, const float* a, const float* b, float beta, float* c
) {
    extern __shared__ __align__(16) unsigned char shared[];
    expect_launch<Sgemm>();
    int rows = m, columns = n, depth = k;
    cutlass::gemm::GemmCoord tiles((rows + 127) / 128, (columns + 127) / 128, 1);
    Sgemm::Params params(
        {rows, columns, depth}, tiles,
        {const_cast<float*>(a), depth}, {const_cast<float*>(b), columns}, {c, columns}, {c, columns},
        {alpha, beta}
    );
    Sgemm()(params, *reinterpret_cast<Sgemm::SharedStorage*>(shared));
}
// ANCHOR_END: sgemm

// ANCHOR: linear
// On tensor cores: a block of 128 threads makes a tile of 128 x 128, 32 of `k` a step, 4 steps ahead.
using Linear = cutlass::gemm::kernel::DefaultGemm<
    cutlass::half_t, Row, 8, cutlass::half_t, Row, 8, float, Row, float,
    cutlass::arch::OpClassTensorOp, cutlass::arch::Sm80,
    cutlass::gemm::GemmShape<128, 128, 32>, cutlass::gemm::GemmShape<64, 64, 32>, cutlass::gemm::GemmShape<16, 8, 16>,
    cutlass::epilogue::thread::LinearCombinationRelu<float, 4, float, float, cutlass::epilogue::thread::ScaleType::NoBetaScaling>,
    Swizzle, 4, false, cutlass::arch::OpMultiplyAdd>::GemmKernel;

static_assert(Linear::kThreadCount == 128 && sizeof(Linear::SharedStorage) == 65536, "the block, and its shared memory");

// `y = max(x * w + bias, 0)`, `m` x `n`, with `k` columns in `x`; `k` and `n` are multiples of 8.
extern "C" __global__ void __launch_bounds__(128) cutlass_linear(
    unsigned m, unsigned n, unsigned k, const __half* x, const __half* w, const float* bias, float* y
) {
    extern __shared__ __align__(16) unsigned char shared[];
    auto half = [](const __half* p) { return reinterpret_cast<cutlass::half_t*>(const_cast<__half*>(p)); };
    expect_launch<Linear>();
    int rows = m, columns = n, depth = k;
    cutlass::gemm::GemmCoord tiles((rows + 127) / 128, (columns + 127) / 128, 1);
    Linear::Params params(
        {rows, columns, depth}, tiles,
        {half(x), depth}, {half(w), columns},
        {const_cast<float*>(bias), 0},  // the same row for each row of the product
        {y, columns}, {1.0f}
    );
    Linear()(params, *reinterpret_cast<Linear::SharedStorage*>(shared));
}
// ANCHOR_END: linear
