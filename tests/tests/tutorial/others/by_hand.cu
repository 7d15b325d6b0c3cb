// What the tutorial shows in CUDA C++. Built and run: `nvcc -arch=native by_hand.cu -o by_hand && ./by_hand`.

#include <cstdio>
#include <vector>

#include "../adjust.cu"

// ANCHOR: adjusted
#include <algorithm>
#include <cstddef>

#define TRY(call)                                        \
    do {                                                 \
        const cudaError_t error = (call);                \
        if (error != cudaSuccess) return error;          \
    } while (0)

constexpr size_t DEPTH = 3;
struct Slot { float* v; cudaEvent_t loaded, adjusted, stored; };

cudaError_t adjusted(const float* x, float* z, size_t len, size_t chunk, float gain, float offset) {
    cudaStream_t up, math, down;
    for (cudaStream_t* stream : {&up, &math, &down})
        TRY(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    Slot ring[DEPTH];
    for (Slot& slot : ring) {
        TRY(cudaMalloc(&slot.v, chunk * sizeof(float)));
        for (cudaEvent_t* event : {&slot.loaded, &slot.adjusted, &slot.stored})
            TRY(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    }

    for (size_t c = 0; c * chunk < len; c++) {
        Slot& slot = ring[c % DEPTH];
        const size_t start = c * chunk, n = std::min(chunk, len - start), bytes = n * sizeof(float);
        const unsigned blocks = static_cast<unsigned>((n + 255) / 256);

        TRY(cudaStreamWaitEvent(up, slot.stored, 0));
        TRY(cudaMemcpyAsync(slot.v, x + start, bytes, cudaMemcpyHostToDevice, up));
        TRY(cudaEventRecord(slot.loaded, up));

        TRY(cudaStreamWaitEvent(math, slot.loaded, 0));
        adjust<<<blocks, 256, 0, math>>>(static_cast<unsigned>(n), gain, offset, slot.v);
        TRY(cudaGetLastError());
        TRY(cudaEventRecord(slot.adjusted, math));

        TRY(cudaStreamWaitEvent(down, slot.adjusted, 0));
        TRY(cudaMemcpyAsync(z + start, slot.v, bytes, cudaMemcpyDeviceToHost, down));
        TRY(cudaEventRecord(slot.stored, down));
    }
    TRY(cudaStreamSynchronize(down));

    for (Slot& slot : ring) {
        TRY(cudaFree(slot.v));
        for (cudaEvent_t event : {slot.loaded, slot.adjusted, slot.stored}) TRY(cudaEventDestroy(event));
    }
    for (cudaStream_t stream : {up, math, down}) TRY(cudaStreamDestroy(stream));
    return cudaSuccess;
}
// ANCHOR_END: adjusted

/// Twice the same launch: both on the null stream.
void launched_twice(unsigned grid, unsigned block, unsigned n, float* v) {
    // ANCHOR: null
    adjust<<<grid, block>>>(n, 2.0f, 1.0f, v);
    adjust<<<grid, block, 0, 0>>>(n, 2.0f, 1.0f, v);
    // ANCHOR_END: null
}

/// How long one launch takes, in milliseconds.
cudaError_t timed(unsigned n, float* v, cudaStream_t stream, float* milliseconds) {
    // ANCHOR: timed
    cudaEvent_t start, stop;
    TRY(cudaEventCreate(&start));
    TRY(cudaEventCreate(&stop));
    TRY(cudaEventRecord(start, stream));
    adjust<<<(n + 255) / 256, 256, 0, stream>>>(n, 2.0f, 1.0f, v);
    TRY(cudaEventRecord(stop, stream));
    TRY(cudaEventSynchronize(stop));  // the host waits: before, there is no time to ask for
    TRY(cudaEventElapsedTime(milliseconds, start, stop));
    // ANCHOR_END: timed
    TRY(cudaEventDestroy(start));
    return cudaEventDestroy(stop);
}

/// Compares with what the CPU computes.
bool all_are(const float* z, size_t len, float gain, float offset) {
    for (size_t i = 0; i < len; i++)
        if (z[i] != gain * static_cast<float>(i % 1000) + offset) {
            std::printf("sample %zu is %f\n", i, z[i]);
            return false;
        }
    return true;
}

int main() {
    const size_t len = 1000003;
    float *x, *z, *v;
    if (cudaMallocHost(&x, len * sizeof(float)) != cudaSuccess) return 1;
    if (cudaMallocHost(&z, len * sizeof(float)) != cudaSuccess) return 1;
    for (size_t i = 0; i < len; i++) x[i] = static_cast<float>(i % 1000);
    if (const cudaError_t error = adjusted(x, z, len, 1 << 16, 0.5f, 1.0f)) {
        std::printf("%s\n", cudaGetErrorString(error));
        return 1;
    }
    if (!all_are(z, len, 0.5f, 1.0f)) return 1;

    if (cudaMalloc(&v, len * sizeof(float)) != cudaSuccess) return 1;
    cudaMemcpy(v, x, len * sizeof(float), cudaMemcpyHostToDevice);
    launched_twice(100, 256, len, v);
    if (cudaMemcpy(z, v, len * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    if (!all_are(z, len, 4.0f, 3.0f)) return 1;

    float milliseconds = 0;
    if (timed(len, v, nullptr, &milliseconds) != cudaSuccess || milliseconds <= 0) return 1;
    std::printf("CUDA C++: %zu samples, each of them right\n", len);
}
