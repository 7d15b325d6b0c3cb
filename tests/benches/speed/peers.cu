// Hand-written CUDA C++ on the same page-locked buffers as the pipelines: what a careful engineer writes
// without the macro. Every function returns 0 or CUDA's error; `enqueue` receives the seconds that the host
// spent enqueuing.
//
//     nvcc -std=c++17 -O3 -arch=native -shared -Xcompiler -fPIC -o libpeers.so peers.cu

#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "../../cu/step.cu"

namespace peers {

// Returns from the calling function with what CUDA answered, unless that is success.
#define TRY(call)                                       \
    do {                                                \
        const int status = static_cast<int>(call);      \
        if (status != 0) return status;                 \
    } while (0)

double seconds() {
    using Clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// A function of the driver, which this is not linked with.
template <typename Function>
int from_driver(const char* name, Function* function) {
    cudaDriverEntryPointQueryResult found;
    TRY(cudaGetDriverEntryPointByVersion(name, reinterpret_cast<void**>(function), CUDA_VERSION, cudaEnableDefault, &found));
    return found == cudaDriverEntryPointSuccess ? 0 : cudaErrorNotSupported;
}

constexpr unsigned BLOCK = 256;

unsigned blocks(size_t n) { return static_cast<unsigned>((n + BLOCK - 1) / BLOCK); }

int launch(const float* x, float* z, size_t n, int iterations, cudaStream_t stream) {
    step<<<blocks(n), BLOCK, 0, stream>>>(static_cast<unsigned>(n), static_cast<unsigned>(iterations), x, z);
    return cudaGetLastError();
}

int new_stream(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking); }
int new_event(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDisableTiming); }

// One array in, one array out, in chunks, through a ring of `depth` slots of device memory.
struct Ring {
    const float* x;
    float* z;
    size_t total, chunk;
    int depth, iterations;

    std::vector<float*> in, out;
    std::vector<cudaStream_t> slots;
    cudaStream_t up, math, down;
    std::vector<cudaEvent_t> loaded, computed, stored;
    cudaEvent_t fork, join;
    cudaGraphExec_t graph = nullptr;

    size_t chunks() const { return (total + chunk - 1) / chunk; }
    size_t length(size_t c) const { return std::min(chunk, total - c * chunk); }

    int create() {
        in.resize(depth), out.resize(depth), slots.resize(depth);
        loaded.resize(depth), computed.resize(depth), stored.resize(depth);
        for (int k = 0; k < depth; k++) {
            TRY(cudaMalloc(&in[k], chunk * sizeof(float)));
            TRY(cudaMalloc(&out[k], chunk * sizeof(float)));
            TRY(new_stream(&slots[k]));
            TRY(new_event(&loaded[k]));
            TRY(new_event(&computed[k]));
            TRY(new_event(&stored[k]));
        }
        TRY(new_stream(&up));
        TRY(new_stream(&math));
        TRY(new_stream(&down));
        TRY(new_event(&fork));
        return new_event(&join);
    }

    ~Ring() {
        for (int k = 0; k < depth; k++) {
            cudaFree(in[k]), cudaFree(out[k]), cudaStreamDestroy(slots[k]);
            for (auto event : {loaded[k], computed[k], stored[k]}) cudaEventDestroy(event);
        }
        for (auto stream : {up, math, down}) cudaStreamDestroy(stream);
        for (auto event : {fork, join}) cudaEventDestroy(event);
        if (graph) cudaGraphExecDestroy(graph);
    }

    int load(size_t c, cudaStream_t stream) {
        return cudaMemcpyAsync(in[c % depth], x + c * chunk, length(c) * sizeof(float), cudaMemcpyHostToDevice, stream);
    }

    int compute(size_t c, cudaStream_t stream) {
        return launch(in[c % depth], out[c % depth], length(c), iterations, stream);
    }

    int store(size_t c, cudaStream_t stream) {
        return cudaMemcpyAsync(z + c * chunk, out[c % depth], length(c) * sizeof(float), cudaMemcpyDeviceToHost, stream);
    }

    // Chunk `c` on stream `c mod depth`.
    int enqueue_by_chunk() {
        for (size_t c = 0; c < chunks(); c++) {
            const auto stream = slots[c % depth];
            TRY(load(c, stream));
            TRY(compute(c, stream));
            TRY(store(c, stream));
        }
        return 0;
    }

    // A stream for each stage, and events. One that was never recorded is not waited for.
    int enqueue_by_stage() {
        for (size_t c = 0; c < chunks(); c++) {
            const int k = static_cast<int>(c % depth);
            const bool reused = c >= static_cast<size_t>(depth);
            if (reused) TRY(cudaStreamWaitEvent(up, computed[k], 0));
            TRY(load(c, up));
            TRY(cudaEventRecord(loaded[k], up));
            TRY(cudaStreamWaitEvent(math, loaded[k], 0));
            if (reused) TRY(cudaStreamWaitEvent(math, stored[k], 0));
            TRY(compute(c, math));
            TRY(cudaEventRecord(computed[k], math));
            TRY(cudaStreamWaitEvent(down, computed[k], 0));
            TRY(store(c, down));
            TRY(cudaEventRecord(stored[k], down));
        }
        return 0;
    }

    int synchronize() {
        for (auto stream : {up, math, down}) TRY(cudaStreamSynchronize(stream));
        for (auto stream : slots) TRY(cudaStreamSynchronize(stream));
        return 0;
    }

    // Captures one of the three.
    int capture(int (Ring::*enqueue)(), bool by_stage) {
        std::vector<cudaStream_t> others = slots;
        if (by_stage) others = {math, down};
        TRY(cudaStreamBeginCapture(up, cudaStreamCaptureModeThreadLocal));
        TRY(cudaEventRecord(fork, up));
        for (auto stream : others) TRY(cudaStreamWaitEvent(stream, fork, 0));
        TRY((this->*enqueue)());
        for (auto stream : others) {
            TRY(cudaEventRecord(join, stream));
            TRY(cudaStreamWaitEvent(up, join, 0));
        }
        cudaGraph_t captured;
        TRY(cudaStreamEndCapture(up, &captured));
        TRY(cudaGraphInstantiate(&graph, captured, 0));
        TRY(cudaGraphDestroy(captured));
        TRY(cudaGraphUpload(graph, up));
        return cudaStreamSynchronize(up);
    }

    // Kernels that read and write the host's memory over the link; no copies.
    int enqueue_mapped() {
        for (size_t c = 0; c < chunks(); c++) {
            const size_t quads = length(c) / 4;
            const unsigned grid = static_cast<unsigned>(std::min<size_t>(132, std::max<size_t>(1, quads / 512)));
            step4<<<grid, 512, 0, slots[c % depth]>>>(static_cast<unsigned>(length(c)), static_cast<unsigned>(iterations),
                                                      x + c * chunk, z + c * chunk);
            TRY(cudaGetLastError());
        }
        return 0;
    }
};

// Ordinary memory through page-locked slots of one device: each of so many threads copies in, enqueues, and copies out
// what is done.
struct Staging {
    static constexpr int SLOTS = 3;
    struct Slot {
        float *host_in, *host_out, *in, *out;
        cudaStream_t stream;
        cudaEvent_t done;
    };

    int device = 0;
    std::vector<Slot> slots;
    size_t room = 0;

    // Makes the slots, unless those that are there will do.
    int reserve(size_t piece, int threads) {
        const size_t wanted = static_cast<size_t>(threads) * SLOTS;
        if (slots.size() >= wanted && room >= piece) return 0;
        TRY(cudaSetDevice(device));
        for (auto& slot : slots) {
            cudaFreeHost(slot.host_in), cudaFreeHost(slot.host_out), cudaFree(slot.in), cudaFree(slot.out);
            cudaStreamDestroy(slot.stream), cudaEventDestroy(slot.done);
        }
        slots.resize(wanted);
        for (auto& slot : slots) {
            TRY(cudaMallocHost(&slot.host_in, piece * sizeof(float)));
            TRY(cudaMallocHost(&slot.host_out, piece * sizeof(float)));
            TRY(cudaMalloc(&slot.in, piece * sizeof(float)));
            TRY(cudaMalloc(&slot.out, piece * sizeof(float)));
            TRY(new_stream(&slot.stream));
            TRY(new_event(&slot.done));
        }
        room = piece;
        return 0;
    }

    int run(const float* x, float* z, size_t total, size_t piece, int threads, int iterations) {
        std::atomic<size_t> next{0};
        std::atomic<int> failed{0};
        const size_t pieces = (total + piece - 1) / piece;
        const auto length = [&](size_t p) { return std::min(piece, total - p * piece); };
        const auto work = [&](int thread) -> int {
            TRY(cudaSetDevice(device));
            size_t held[SLOTS] = {};
            bool busy[SLOTS] = {};
            const auto deliver = [&](int k) -> int {
                if (!busy[k]) return 0;
                auto& slot = slots[thread * SLOTS + k];
                TRY(cudaEventSynchronize(slot.done));
                std::memcpy(z + held[k] * piece, slot.host_out, length(held[k]) * sizeof(float));
                busy[k] = false;
                return 0;
            };
            for (int k = 0;; k = (k + 1) % SLOTS) {
                const size_t p = next++;
                if (p >= pieces) break;
                TRY(deliver(k));
                auto& slot = slots[thread * SLOTS + k];
                const size_t n = length(p);
                std::memcpy(slot.host_in, x + p * piece, n * sizeof(float));
                TRY(cudaMemcpyAsync(slot.in, slot.host_in, n * sizeof(float), cudaMemcpyHostToDevice, slot.stream));
                TRY(launch(slot.in, slot.out, n, iterations, slot.stream));
                TRY(cudaMemcpyAsync(slot.host_out, slot.out, n * sizeof(float), cudaMemcpyDeviceToHost, slot.stream));
                TRY(cudaEventRecord(slot.done, slot.stream));
                held[k] = p, busy[k] = true;
            }
            for (int k = 0; k < SLOTS; k++) TRY(deliver(k));
            return 0;
        };
        std::vector<std::thread> pool;
        for (int thread = 0; thread < threads; thread++) {
            pool.emplace_back([&, thread] {
                if (const int status = work(thread)) failed = status;
            });
        }
        for (auto& thread : pool) thread.join();
        return failed;
    }
};

}  // namespace peers

using namespace peers;

extern "C" {

const char* peers_error(int status) { return cudaGetErrorName(static_cast<cudaError_t>(status)); }

// How to stream: 0 a stream for each slot, 1 a stream for each stage, 2 and 3 the same as graphs, 4 mapped
// memory, 5 the same as a graph.
enum { BY_CHUNK, BY_STAGE, GRAPH_BY_CHUNK, GRAPH_BY_STAGE, MAPPED, GRAPH_MAPPED };

int peers_ring_new(const float* x, float* z, size_t total, size_t chunk, int depth, int iterations, int way, Ring** made) {
    auto ring = std::make_unique<Ring>();
    ring->x = x, ring->z = z, ring->total = total, ring->chunk = chunk;
    ring->depth = depth, ring->iterations = iterations;
    TRY(ring->create());
    if (way == GRAPH_BY_CHUNK) TRY(ring->capture(&Ring::enqueue_by_chunk, false));
    if (way == GRAPH_BY_STAGE) TRY(ring->capture(&Ring::enqueue_by_stage, true));
    if (way == GRAPH_MAPPED) TRY(ring->capture(&Ring::enqueue_mapped, false));
    *made = ring.release();
    return 0;
}

void peers_ring_free(Ring* ring) { delete ring; }

int peers_ring_run(Ring* ring, int way, double* enqueue) {
    const double start = seconds();
    switch (way) {
        case BY_CHUNK: TRY(ring->enqueue_by_chunk()); break;
        case BY_STAGE: TRY(ring->enqueue_by_stage()); break;
        case MAPPED: TRY(ring->enqueue_mapped()); break;
        default: TRY(cudaGraphLaunch(ring->graph, ring->up)); break;
    }
    *enqueue = seconds() - start;
    return ring->synchronize();
}

// Copy, compute, copy of whole arrays, of any host memory.
int peers_serial(const float* x, float* z, size_t total, int iterations, double* enqueue) {
    static float *in = nullptr, *out = nullptr;
    static size_t room = 0;
    if (room < total) {
        cudaFree(in), cudaFree(out);
        TRY(cudaMalloc(&in, total * sizeof(float)));
        TRY(cudaMalloc(&out, total * sizeof(float)));
        room = total;
    }
    const double start = seconds();
    TRY(cudaMemcpy(in, x, total * sizeof(float), cudaMemcpyHostToDevice));
    TRY(launch(in, out, total, iterations, nullptr));
    TRY(cudaMemcpy(z, out, total * sizeof(float), cudaMemcpyDeviceToHost));
    *enqueue = seconds() - start;
    return 0;
}

// Ordinary memory through page-locked slots of the first device.
int peers_staged(const float* x, float* z, size_t total, size_t piece, int threads, int iterations, double* enqueue) {
    static Staging staging;
    TRY(staging.reserve(piece, threads));
    const double start = seconds();
    TRY(staging.run(x, z, total, piece, threads, iterations));
    *enqueue = seconds() - start;
    return 0;
}

// All uploads of a small-chunk run, one by one or as one batch where the driver has that; nothing else.
int peers_uploads(const float* x, size_t total, size_t chunk, int batched) {
    static float* device = nullptr;
    static size_t room = 0;
    static cudaStream_t stream;
    if (room < total) {
        cudaFree(device);
        TRY(cudaMalloc(&device, total * sizeof(float)));
        if (room == 0) TRY(new_stream(&stream));
        room = total;
    }
    const size_t chunks = total / chunk;
    if (!batched) {
        for (size_t c = 0; c < chunks; c++) {
            TRY(cudaMemcpyAsync(device + c * chunk, x + c * chunk, chunk * sizeof(float), cudaMemcpyHostToDevice, stream));
        }
        return cudaStreamSynchronize(stream);
    }
#if CUDART_VERSION >= 13000
    std::vector<CUdeviceptr> to(chunks), from(chunks);
    std::vector<size_t> bytes(chunks, chunk * sizeof(float));
    for (size_t c = 0; c < chunks; c++) {
        to[c] = reinterpret_cast<CUdeviceptr>(device + c * chunk);
        from[c] = reinterpret_cast<CUdeviceptr>(x + c * chunk);
    }
    CUmemcpyAttributes attributes{};
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    size_t first = 0;
    decltype(&cuMemcpyBatchAsync) copy_batch;
    TRY(from_driver("cuMemcpyBatchAsync", &copy_batch));
    TRY(copy_batch(to.data(), from.data(), bytes.data(), chunks, &attributes, &first, 1, stream));
    return cudaStreamSynchronize(stream);
#else
    return cudaErrorNotSupported;
#endif
}

// One frame in, three kernels, out. Ways: 0 stream calls, 1 a graph, 2 mapped memory in a graph, 3 the same,
// and the end is seen by polling a word that the stream writes, 4 mapped memory by stream calls, 5 stream calls by
// another thread, which polls such a word for the end and is told of a frame by this one. With `from` and `to`, a
// frame begins with the copy from there to `x`, and ends with the one from `z`. `latencies` receives `frames` times
// in seconds.
int peers_frames(
    float* x, float* z, const float* from, float* to, size_t n, int way, int frames, double* latencies
) {
    float *a, *b;
    cudaStream_t stream;
    TRY(cudaMalloc(&a, n * sizeof(float)));
    TRY(cudaMalloc(&b, n * sizeof(float)));
    TRY(new_stream(&stream));
    volatile unsigned* flag;
    TRY(cudaHostAlloc(const_cast<unsigned**>(&flag), 64, cudaHostAllocMapped));
    *flag = 0;
    const auto copies = [&]() -> int {
        TRY(cudaMemcpyAsync(a, x, n * sizeof(float), cudaMemcpyHostToDevice, stream));
        TRY(launch(a, b, n, 1, stream));
        TRY(launch(b, a, n, 1, stream));
        TRY(launch(a, b, n, 1, stream));
        return cudaMemcpyAsync(z, b, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
    };
    const auto mapped = [&]() -> int {
        TRY(launch(x, a, n, 1, stream));
        TRY(launch(a, b, n, 1, stream));
        return launch(b, z, n, 1, stream);
    };
    cudaGraphExec_t graph = nullptr;
    if (way >= 1 && way <= 3) {
        cudaGraph_t captured;
        TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        TRY(way == 1 ? copies() : mapped());
        TRY(cudaStreamEndCapture(stream, &captured));
        TRY(cudaGraphInstantiate(&graph, captured, 0));
        TRY(cudaGraphDestroy(captured));
    }
    decltype(&cuStreamWriteValue32) write_value;
    TRY(from_driver("cuStreamWriteValue32", &write_value));
    unsigned ticks = 0;
    const auto end = [&](unsigned tick) -> int {
        TRY(write_value(stream, reinterpret_cast<CUdeviceptr>(const_cast<unsigned*>(flag)), tick, 0));
        while (*flag != tick) {
        }
        return 0;
    };
    // What the other thread is asked for and has done, in cache lines of their own.
    alignas(64) std::atomic<unsigned> asked{0};
    alignas(64) std::atomic<unsigned> done{0};
    alignas(64) std::atomic<int> outcome{0};
    std::thread other;
    if (way == 5) {
        int device;
        TRY(cudaGetDevice(&device));
        const unsigned all = frames / 10 + frames;
        other = std::thread([&, device, all] {
            int failed = cudaSetDevice(device);
            for (unsigned tick = 1; tick <= all; tick++) {
                while (asked.load(std::memory_order_acquire) != tick) {
                }
                if (!failed) failed = copies();
                if (!failed) failed = end(tick);
                outcome.store(failed, std::memory_order_relaxed);
                done.store(tick, std::memory_order_release);
            }
        });
    }
    for (int frame = -frames / 10; frame < frames; frame++) {
        const double start = seconds();
        if (from) memcpy(x, from, n * sizeof(float));
        if (way == 5) {
            asked.store(++ticks, std::memory_order_release);
            while (done.load(std::memory_order_acquire) != ticks) {
            }
            if (to) memcpy(to, z, n * sizeof(float));
            if (frame >= 0) latencies[frame] = seconds() - start;
            continue;
        }
        TRY(graph ? static_cast<int>(cudaGraphLaunch(graph, stream)) : way == 4 ? mapped() : copies());
        if (way == 3) {
            TRY(end(++ticks));
        } else {
            TRY(cudaStreamSynchronize(stream));
        }
        if (to) memcpy(to, z, n * sizeof(float));
        if (frame >= 0) latencies[frame] = seconds() - start;
    }
    if (other.joinable()) other.join();
    TRY(outcome.load());
    TRY(cudaStreamSynchronize(stream));
    if (graph) TRY(cudaGraphExecDestroy(graph));
    TRY(cudaFreeHost(const_cast<unsigned*>(flag)));
    TRY(cudaStreamDestroy(stream));
    TRY(cudaFree(a));
    return cudaFree(b);
}

}  // extern "C"
