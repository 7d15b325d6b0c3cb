// The workloads of `peers.py` written with CUDASTF (CCCL's `cudax`). CUDASTF knows what each task reads and
// writes, and copies and orders by itself. `peers.py` compiles this file where CUDASTF is installed:
//
//     nvcc -std=c++20 -O3 -DNDEBUG -arch=native --expt-relaxed-constexpr --extended-lambda -I… -shared -Xcompiler -fPIC
//         -cudart static -o libstf.so stf.cu
//
// Every function returns 0 or CUDA's error, but CUDASTF itself prints most errors and aborts.

#include <cuda/experimental/stf.cuh>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>

#include "../../cu/step.cu"

namespace tasks {

namespace stf = cuda::experimental::stf;

// Returns from the calling function with what CUDA answered, unless that is success.
#define TRY(call)                                       \
    do {                                                \
        const cudaError_t status = (call);              \
        if (status != cudaSuccess) return status;       \
    } while (0)

constexpr unsigned BLOCK = 256;

struct Peer {
    size_t total, chunk;
    float *x = nullptr, *z = nullptr;     // page-locked
    float *in = nullptr, *out = nullptr;  // the whole arrays on the device, for the limit
    cudaStream_t up = nullptr, down = nullptr;
    // Streams, and graphs to be updated, for all runs.
    stf::async_resources_handle resources;

    cudaError_t create() {
        const size_t bytes = total * sizeof(float);
        TRY(cudaHostAlloc(&x, bytes, cudaHostAllocPortable));
        TRY(cudaHostAlloc(&z, bytes, cudaHostAllocPortable));
        TRY(cudaMalloc(&in, bytes));
        TRY(cudaMalloc(&out, bytes));
        TRY(cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking));
        TRY(cudaStreamCreateWithFlags(&down, cudaStreamNonBlocking));
        // A context takes device memory by `cudaMallocAsync` and gives it back at its end. The pool keeps it
        // for the next context until the process ends.
        int device;
        cudaMemPool_t pool;
        uint64_t all = UINT64_MAX;
        TRY(cudaGetDevice(&device));
        TRY(cudaDeviceGetDefaultMemPool(&pool, device));
        return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
    }

    ~Peer() {
        cudaFreeHost(x), cudaFreeHost(z), cudaFree(in), cudaFree(out);
        for (auto stream : {up, down}) {
            if (stream) cudaStreamDestroy(stream);
        }
    }

    // Logical data live for one chunk: at their end the result is on its way home, and their device memory is
    // the next chunk's. CUDASTF sees that the memory is page-locked, and leaves it as it is.
    template <typename Context>
    void run() {
        Context context(resources);
        for (size_t start = 0; start < total; start += chunk) {
            const size_t n = std::min(chunk, total - start);
            auto lx = context.logical_data(stf::make_slice(x + start, n));
            auto lz = context.logical_data(stf::make_slice(z + start, n));
            context.task(lx.read(), lz.write())->*[](cudaStream_t stream, auto dx, auto dz) {
                const unsigned items = static_cast<unsigned>(dx.size());
                step<<<(items + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(items, 1, dx.data_handle(), dz.data_handle());
            };
        }
        context.finalize();
    }

    // Bare copies of the same bytes, both ways at the same time.
    cudaError_t limit() {
        const size_t bytes = total * sizeof(float);
        TRY(cudaMemcpyAsync(in, x, bytes, cudaMemcpyHostToDevice, up));
        TRY(cudaMemcpyAsync(z, out, bytes, cudaMemcpyDeviceToHost, down));
        TRY(cudaStreamSynchronize(up));
        return cudaStreamSynchronize(down);
    }
};

// No exception may leave a function that C calls.
template <typename Body>
int guarded(Body body) {
    try {
        return body();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "stf.cu: %s\n", error.what());
        return cudaErrorUnknown;
    }
}

}  // namespace tasks

using namespace tasks;

extern "C" {

const char* stf_error(int status) { return cudaGetErrorName(static_cast<cudaError_t>(status)); }

// Arrays of `total` elements, whose addresses `x` and `z` receive.
int stf_new(size_t total, size_t chunk, float** x, float** z, Peer** made) {
    return guarded([&]() -> int {
        // Where there is no device, this says so, and CUDASTF's handle aborts.
        TRY(cudaFree(nullptr));
        auto peer = std::make_unique<Peer>();
        peer->total = total, peer->chunk = chunk;
        TRY(peer->create());
        *x = peer->x, *z = peer->z;
        *made = peer.release();
        return cudaSuccess;
    });
}

void stf_free(Peer* peer) { delete peer; }

// z <- 0.999 x + 0.001 by tasks on streams, or in a graph that is made and launched.
int stf_run(Peer* peer, int graph) {
    return guarded([&]() -> int {
        if (graph) {
            peer->run<stf::graph_ctx>();
        } else {
            peer->run<stf::stream_ctx>();
        }
        return cudaSuccess;
    });
}

int stf_limit(Peer* peer) { return peer->limit(); }

}  // extern "C"
