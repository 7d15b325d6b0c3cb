// What the header that stands for CUDA asks of the core, which is compiled once and linked into each library.
#ifndef ON_HOST_CORE
#define ON_HOST_CORE

#include <stddef.h>
#include <stdint.h>

struct uint3 {
    unsigned int x, y, z;
};

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return {x, y, z}; }
};

// The core sets these before it goes on with a thread.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
constexpr int warpSize = 32;

namespace on_host {

// A thread that has noted its line and has ended.
struct Fault {
    uint32_t line;
    uint32_t block[3], thread[3];
};

// The Rust side has the same.
struct Launch {
    uint32_t grid[3], block[3];
    uint32_t shared;
    // The ready thread that runs next: 0 the first, 1 the last, others a random one that follows from the
    // number.
    uint64_t order;
    // The basic blocks that a launch may run, if the text was compiled to count them.
    uint64_t steps;
    // Room for faults. There may be more of them, which are counted.
    Fault* faults;
    uint64_t room;
    // What follows is the result.
    uint64_t fault_count;
    // The operations for which threads have waited for each other.
    uint64_t waits;
    char error[1024];
};

// Where an operation stands in the text.
struct Place {
    const char* what;
    const char* file;
    unsigned int line;
};

// The largest value that lanes exchange, in bytes.
constexpr size_t WORD = 8;

// What the lanes of a warp have brought, by lane.
struct Exchange {
    unsigned char values[32][WORD];
    // The lanes that are there.
    uint32_t there;
    // Those that have faulted: what is read of one is undefined, as nobody is to use it.
    uint32_t faulted;
};

// Waits for all threads of the block, and returns how many of them said yes.
unsigned int block_barrier(Place place, bool said);

// Waits for the lanes of the mask. Each brings `bytes` bytes.
Exchange warp_exchange(Place place, uint32_t mask, const void* value, size_t bytes);

// The lane of the thread that runs.
unsigned int lane();

// The launch's dynamic shared memory, and its size under the name of the register that has it on a GPU.
extern unsigned char dynamic[];
unsigned int dynamic_smem_size();

// Ends the launch with a text.
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Carries out a launch; `kernel` is called for each thread. Returns whether it was carried out without an
// error.
bool launch(Launch* launch, void (*kernel)(void*), void* arguments);

// Writes that the launch was not begun.
bool refuse(Launch* launch, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace on_host

// A thread of a kernel that was written in Rust notes its line and ends.
[[noreturn]] void faulted(unsigned int line);

#endif
