// A matrix product on Hopper's own instructions (TMA, WGMMA), built by CUTLASS for the host too: its kernel
// takes descriptors of the matrices that only the host can make.
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

// Names of its own: several of CUTLASS's namespaces have a `Kernel`, a `Tile` and so on.
namespace hopper {

using namespace cutlass;
using cute::_1, cute::_2, cute::_64, cute::_128;
using Row = layout::RowMajor;
using Tile = cute::Shape<_128, _128, _64>;
using Cluster = cute::Shape<_2, _1, _1>;

using Epilogue = epilogue::collective::CollectiveBuilder<
    arch::Sm90, arch::OpClassTensorOp, Tile, Cluster, epilogue::collective::EpilogueTileAuto,
    float, float, float, Row, 4, float, Row, 4, epilogue::collective::EpilogueScheduleAuto>::CollectiveOp;
using Mainloop = gemm::collective::CollectiveBuilder<
    arch::Sm90, arch::OpClassTensorOp, half_t, Row, 8, half_t, Row, 8, float, Tile, Cluster,
    gemm::collective::StageCountAutoCarveout<sizeof(Epilogue::SharedStorage)>,
    gemm::collective::KernelScheduleAuto>::CollectiveOp;
using Kernel = gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>;
using Gemm = gemm::device::GemmUniversalAdapter<Kernel>;

// ANCHOR: launcher
/// Enqueues `c = a * b`, `m` x `n`, row-major, with `k` columns in `a`. Null, or CUTLASS's name for what is
/// wrong.
extern "C" const char* hopper_gemm(int m, int n, int k, const void* a, const void* b, float* c, cudaStream_t stream) {
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return "no device is current";
    KernelHardwareInfo hardware{device, KernelHardwareInfo::query_device_multiprocessor_count(device)};
    Gemm::Arguments arguments{
        gemm::GemmUniversalMode::kGemm, {m, n, k, 1},
        {static_cast<const half_t*>(a), {int64_t(k), {}, 0}, static_cast<const half_t*>(b), {{}, int64_t(n), 0}},
        {{1.0f, 0.0f}, c, {int64_t(n), {}, 0}, c, {int64_t(n), {}, 0}}, hardware
    };
    if (Gemm::get_workspace_size(arguments) != 0) return "a workspace is needed";
    Status status = Gemm::can_implement(arguments);
    if (status == Status::kSuccess) status = Gemm().run(arguments, nullptr, stream);
    return status == Status::kSuccess ? nullptr : cutlassGetStatusString(status);
}
// ANCHOR_END: launcher

} // namespace hopper
