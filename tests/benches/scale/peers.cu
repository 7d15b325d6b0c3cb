// Hand-written CUDA C++ for several GPUs and for ranks with NCCL, beside `speed`'s for one GPU, which is part of this
// library. Every function returns 0, CUDA's error, or `NCCL` and NCCL's error.
//
//     nvcc -std=c++17 -O3 -arch=native -shared -Xcompiler -fPIC -o libpeers.so peers.cu
//
// NCCL's functions are looked up while the program runs, so that neither its header nor its library is needed here.

#include "../speed/peers.cu"

#include <dlfcn.h>
#include <sched.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace scale {

// Calls `work(i)` on a thread for each `i`, and returns one of the errors, or 0.
template <typename Work>
int on_threads(int threads, Work work) {
    std::atomic<int> failed{0};
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; thread++) {
        all.emplace_back([&failed, &work, thread] {
            if (const int status = work(thread)) failed = status;
        });
    }
    for (auto& thread : all) thread.join();
    return failed;
}

// Equal parts of an array; the last one has the rest too.
struct Parts {
    size_t total;
    int parts;

    size_t begin(int part) const { return total / parts * part; }
    size_t length(int part) const { return (part + 1 == parts ? total : begin(part + 1)) - begin(part); }
};

// A ring for each thread. Threads take the devices in turns.
struct Rings {
    int devices;
    std::vector<std::unique_ptr<Ring>> rings;

    int device(int thread) const { return thread % devices; }

    ~Rings() {
        for (size_t thread = 0; thread < rings.size(); thread++) {
            cudaSetDevice(device(static_cast<int>(thread)));
            rings[thread].reset();
        }
    }
};

// --- NCCL ---

// Added to NCCL's errors.
constexpr int NCCL = 10000;
// Returned where there is no NCCL.
constexpr int NO_NCCL = NCCL + 999;
// Numbers of NCCL's header.
constexpr int FLOAT = 7, AVERAGE = 4;

struct Id {
    char bytes[128];
};

struct Nccl {
    int (*new_id)(Id*);
    int (*join)(void**, int, Id, int);
    int (*leave)(void*);
    int (*all_reduce)(const void*, void*, size_t, int, int, void*, cudaStream_t);
    int (*send)(const void*, size_t, int, int, void*, cudaStream_t);
    int (*receive)(void*, size_t, int, int, void*, cudaStream_t);
    int (*group_start)();
    int (*group_end)();
    const char* (*describe)(int);
};

#define TRY_NCCL(call)                                     \
    do {                                                   \
        const int status = static_cast<int>(call);         \
        if (status != 0) return NCCL + status;             \
    } while (0)

// The library that the process has already, or else one that the loader finds, or that `NCCL_LIBRARY` names.
const Nccl* nccl() {
    static const Nccl* const found = []() -> const Nccl* {
        void* library = nullptr;
        for (const char* name : {"libnccl.so.2", "libnccl.so"}) {
            if (!library) library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
        }
        const char* const named = getenv("NCCL_LIBRARY");
        for (const char* name : {named, "libnccl.so.2", "libnccl.so"}) {
            if (!library && name) library = dlopen(name, RTLD_NOW);
        }
        if (!library) return nullptr;
        static Nccl it;
        bool complete = true;
        const auto look_up = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
            complete = complete && function;
        };
        look_up(it.new_id, "ncclGetUniqueId");
        look_up(it.join, "ncclCommInitRank");
        look_up(it.leave, "ncclCommDestroy");
        look_up(it.all_reduce, "ncclAllReduce");
        look_up(it.send, "ncclSend");
        look_up(it.receive, "ncclRecv");
        look_up(it.group_start, "ncclGroupStart");
        look_up(it.group_end, "ncclGroupEnd");
        look_up(it.describe, "ncclGetErrorString");
        return complete ? &it : nullptr;
    }();
    return found;
}

// A rank, its GPU, and a stream for what ranks do together.
struct Rank {
    int rank, ranks, device;
    void* communicator = nullptr;
    cudaStream_t links;

    ~Rank() {
        cudaSetDevice(device);
        if (communicator) nccl()->leave(communicator);
        cudaStreamDestroy(links);
    }
};

// --- the heat plate ---

// One step in the rows `begin` to `end` of a part of the plate, which has a row more above and below. Its row 0 is row
// `first` of the plate.
__global__ void conduct(
    int columns, int first, int height, float number, int begin, int end, const float* u, float* v
) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x, r = begin + static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
    if (c >= columns || r >= end) return;
    const size_t here = static_cast<size_t>(r) * columns + c;
    const int row = first + r;
    if (row <= 0 || row + 1 >= height || c == 0 || c + 1 >= columns) {
        v[here] = u[here];
        return;
    }
    const float around = (u[here - columns] + u[here + columns]) + (u[here - 1] + u[here + 1]);
    v[here] = u[here] + number * (around - 4.0f * u[here]);
}

// The rows of one rank. The rows at its borders are computed and exchanged while those inside are computed.
struct Plate {
    Rank* rank;
    int rows, columns, first, height;
    float number;
    float* now[2] = {};
    cudaStream_t math;
    cudaEvent_t inside_done, borders_done;

    size_t size() const { return static_cast<size_t>(rows + 2) * columns; }

    int create(const float* u) {
        for (float*& plate : now) {
            TRY(cudaMalloc(&plate, size() * sizeof(float)));
            TRY(cudaMemcpy(plate, u, size() * sizeof(float), cudaMemcpyHostToDevice));
        }
        TRY(new_stream(&math));
        TRY(new_event(&inside_done));
        return new_event(&borders_done);
    }

    ~Plate() {
        for (float* plate : now) cudaFree(plate);
        cudaStreamDestroy(math), cudaEventDestroy(inside_done), cudaEventDestroy(borders_done);
    }

    int compute(int begin, int end, const float* u, float* v, cudaStream_t stream) {
        if (begin >= end) return 0;
        const dim3 block(32, 8), grid((columns + 31) / 32, (end - begin + 7) / 8);
        conduct<<<grid, block, 0, stream>>>(columns, first, height, number, begin, end, u, v);
        return cudaGetLastError();
    }

    // The rows beside the borders go to the neighbours, and theirs come.
    int exchange(float* v) {
        const Nccl& with = *nccl();
        float *above = v + columns, *below = v + static_cast<size_t>(rows) * columns;
        const auto pair = [&](float* own, float* other, int peer) -> int {
            if (peer < 0 || peer >= rank->ranks) return 0;
            TRY_NCCL(with.send(own, columns, FLOAT, peer, rank->communicator, rank->links));
            TRY_NCCL(with.receive(other, columns, FLOAT, peer, rank->communicator, rank->links));
            return 0;
        };
        TRY_NCCL(with.group_start());
        TRY(pair(above, v, rank->rank - 1));
        TRY(pair(below, below + columns, rank->rank + 1));
        TRY_NCCL(with.group_end());
        return 0;
    }

    int step(const float* u, float* v) {
        if (rank->ranks == 1) return compute(1, rows + 1, u, v, math);
        const auto links = rank->links;
        // The rows beside the borders need the rows inside of the step before, and the other way round.
        TRY(cudaStreamWaitEvent(links, inside_done, 0));
        TRY(cudaStreamWaitEvent(math, borders_done, 0));
        TRY(compute(1, 2, u, v, links));
        if (rows > 1) TRY(compute(rows, rows + 1, u, v, links));
        TRY(cudaEventRecord(borders_done, links));
        TRY(compute(2, rows, u, v, math));
        TRY(cudaEventRecord(inside_done, math));
        return exchange(v);
    }

    int run(int steps) {
        if (rank->ranks > 1) {
            // The rows around were copied in as they were.
            TRY(exchange(now[0]));
        }
        for (int at = 0; at < steps; at++) TRY(step(now[at % 2], now[1 - at % 2]));
        TRY(cudaStreamSynchronize(rank->links));
        return cudaStreamSynchronize(math);
    }
};

// --- processors ---

// The processors in the kernel's list of them, such as `0-15,32`.
cpu_set_t processors(const std::string& list) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const char* at = list.c_str(); isdigit(static_cast<unsigned char>(*at));) {
        char* end;
        const long first = strtol(at, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        for (long processor = first; processor <= last; processor++) CPU_SET(processor, &set);
        at = *end == ',' ? end + 1 : end;
    }
    return set;
}

std::string first_line(const std::string& path) {
    char line[4096] = "";
    if (FILE* file = fopen(path.c_str(), "r")) {
        if (!fgets(line, sizeof line, file)) line[0] = 0;
        fclose(file);
    }
    return line;
}

}  // namespace scale

using namespace scale;

extern "C" {

const char* scale_error(int status) {
    if (status == NO_NCCL) return "there is no NCCL";
    return status >= NCCL ? nccl()->describe(status - NCCL) : peers_error(status);
}

// A thread and a ring for each part of the data; thread after thread takes the next device.
int scale_rings_new(
    const float* x, float* z, size_t total, size_t chunk, int depth, int iterations, int devices, int threads, Rings** made
) {
    auto all = std::make_unique<Rings>();
    const Parts parts{total, threads};
    all->devices = devices;
    for (int thread = 0; thread < threads; thread++) {
        auto ring = std::make_unique<Ring>();
        ring->x = x + parts.begin(thread), ring->z = z + parts.begin(thread), ring->total = parts.length(thread);
        ring->chunk = chunk, ring->depth = depth, ring->iterations = iterations;
        TRY(cudaSetDevice(all->device(thread)));
        TRY(ring->create());
        all->rings.push_back(std::move(ring));
    }
    *made = all.release();
    return 0;
}

void scale_rings_free(Rings* rings) { delete rings; }

int scale_rings_run(Rings* rings) {
    return on_threads(static_cast<int>(rings->rings.size()), [&](int thread) -> int {
        TRY(cudaSetDevice(rings->device(thread)));
        TRY(rings->rings[thread]->enqueue_by_stage());
        return rings->rings[thread]->synchronize();
    });
}

// Ordinary memory, an equal part for each device, by so many threads for each.
int scale_staged(const float* x, float* z, size_t total, size_t piece, int threads, int iterations, int devices) {
    static std::vector<std::unique_ptr<Staging>> all;
    while (static_cast<int>(all.size()) < devices) {
        all.push_back(std::make_unique<Staging>());
        all.back()->device = static_cast<int>(all.size()) - 1;
    }
    const Parts parts{total, devices};
    return on_threads(devices, [&](int device) -> int {
        TRY(all[device]->reserve(piece, threads));
        const size_t begin = parts.begin(device);
        return all[device]->run(x + begin, z + begin, parts.length(device), piece, threads, iterations);
    });
}

// What ranks meet by, made by one of them.
int scale_id(char* id) {
    if (!nccl()) return NO_NCCL;
    Id made;
    TRY_NCCL(nccl()->new_id(&made));
    memcpy(id, made.bytes, sizeof made.bytes);
    return 0;
}

int scale_join(const char* id, int ranks, int rank, int device, Rank** made) {
    auto joined = std::make_unique<Rank>();
    joined->rank = rank, joined->ranks = ranks, joined->device = device;
    int least, most;
    TRY(cudaSetDevice(device));
    TRY(cudaDeviceGetStreamPriorityRange(&least, &most));
    TRY(cudaStreamCreateWithPriority(&joined->links, cudaStreamNonBlocking, most));
    if (ranks > 1) {
        if (!nccl()) return NO_NCCL;
        Id of_all;
        memcpy(of_all.bytes, id, sizeof of_all.bytes);
        TRY_NCCL(nccl()->join(&joined->communicator, ranks, of_all, rank));
    }
    *made = joined.release();
    return 0;
}

void scale_leave(Rank* rank) { delete rank; }

// As nccl-tests measures: so many in place, one after another in a stream, and a wait at the end.
int scale_all_reduce(Rank* rank, float* data, size_t n, int times) {
    TRY(cudaSetDevice(rank->device));
    for (int time = 0; time < times && rank->communicator; time++) {
        TRY_NCCL(nccl()->all_reduce(data, data, n, FLOAT, AVERAGE, rank->communicator, rank->links));
    }
    return cudaStreamSynchronize(rank->links);
}

int scale_plate_new(
    Rank* rank, int rows, int columns, int first, int height, float number, const float* u, Plate** made
) {
    auto plate = std::make_unique<Plate>();
    plate->rank = rank, plate->rows = rows, plate->columns = columns;
    plate->first = first, plate->height = height, plate->number = number;
    TRY(cudaSetDevice(rank->device));
    TRY(plate->create(u));
    *made = plate.release();
    return 0;
}

void scale_plate_free(Plate* plate) { delete plate; }

// An even number of steps; `u` receives the plate after them, and `took` the seconds without the copies.
int scale_plate_run(Plate* plate, int steps, float* u, double* took) {
    TRY(cudaSetDevice(plate->rank->device));
    TRY(cudaMemcpy(plate->now[0], u, plate->size() * sizeof(float), cudaMemcpyHostToDevice));
    TRY(cudaDeviceSynchronize());
    const double start = seconds();
    TRY(plate->run(steps));
    *took = seconds() - start;
    return cudaMemcpy(u, plate->now[0], plate->size() * sizeof(float), cudaMemcpyDeviceToHost);
}

// The NUMA node of a device, or -1 if the machine does not tell.
int scale_node(int device) {
    char address[32] = "";
    if (cudaDeviceGetPCIBusId(address, sizeof address, device)) return -1;
    for (char& letter : address) letter = static_cast<char>(tolower(static_cast<unsigned char>(letter)));
    const auto line = first_line(std::string("/sys/bus/pci/devices/") + address + "/numa_node");
    return line.empty() ? -1 : atoi(line.c_str());
}

// Keeps the calling thread, and those that it starts, on the processors of a node. Whether there is such a node.
int scale_bind(int node) {
    const auto list = first_line("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
    const auto set = processors(list);
    return CPU_COUNT(&set) > 0 && sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // extern "C"
