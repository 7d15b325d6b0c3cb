// Runs the threads of a launch on the host: the blocks one after the other, and the threads of a block in
// turn.
//
// A thread runs until it waits for others. Then another one goes on, on a stack of its own. So barriers and
// operations of warps work, the order is the same in every run, and nothing happens at the same time.

#include "core.h"

#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <mutex>
#include <vector>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace on_host {
namespace {

constexpr size_t STACK = 256 << 10;
constexpr size_t GUARD = 4 << 10;
// What a GPU has at most for one block.
constexpr size_t DYNAMIC = 227 << 10;
// Bytes beyond the dynamic shared memory that must stay as they are.
constexpr size_t BEYOND = 1 << 10;
// Memory that nobody has written: a NaN in floats of every size.
constexpr unsigned char UNWRITTEN = 0xff;

}  // namespace

alignas(1024) unsigned char dynamic[DYNAMIC + BEYOND];

namespace {

enum class State { Ready, AtBarrier, InWarp, Ended, Faulted };

struct Thread {
    State state = State::Ready;
    // The stack that it is on, once it has begun.
    int fiber = -1;
    // What it waits for.
    Place place = {};
    bool said = false;
    uint32_t mask = 0;
    size_t bytes = 0;
    unsigned char value[WORD] = {};
    // What it waited for.
    unsigned int yes = 0;
    Exchange exchange = {};
};

struct Fiber {
    unsigned char* stack = nullptr;
    ucontext_t context;
    // Where its thread waits.
    jmp_buf waiting;
    // Where a thread that faults goes on.
    jmp_buf ended;
    // The thread that it runs.
    int thread = -1;
    bool begun = false;
};

// A library has one launch at a time.
std::mutex running;
pthread_t owner;
Launch* current = nullptr;
void (*kernel)(void*) = nullptr;
void* arguments = nullptr;
std::vector<Thread> threads;
std::vector<Fiber> fibers;
std::vector<int> idle;
// Not on the stack of the scheduler, which a failure leaves without an end.
std::vector<size_t> order_of_blocks, order_of_threads;
// Where the scheduler goes on when a thread waits, and when the launch fails.
jmp_buf scheduler;
jmp_buf failure;
int running_thread = -1;
size_t ended = 0;
uint64_t steps = 0;
uint64_t random_state = 0;

void write(const char* format, va_list values) {
    vsnprintf(current->error, sizeof current->error, format, values);
}

uint3 position(size_t rank) {
    const unsigned int x = blockDim.x, y = blockDim.y;
    const auto at = static_cast<unsigned int>(rank);
    return {at % x, at / x % y, at / x / y};
}

// A thread as messages name it.
struct Named {
    char text[48];

    explicit Named(size_t rank) {
        const uint3 at = position(rank);
        snprintf(text, sizeof text, "thread (%u, %u, %u)", at.x, at.y, at.z);
    }
};

uint64_t random_bits() {
    random_state += 0x9e3779b97f4a7c15u;
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// All numbers below `count` in the launch's order.
void put_in_order(std::vector<size_t>& all, size_t count) {
    all.resize(count);
    for (size_t i = 0; i < count; i++) all[i] = current->order == 1 ? count - 1 - i : i;
    for (size_t i = count; current->order > 1 && i > 1; i--) std::swap(all[i - 1], all[random_bits() % i]);
}

unsigned char* new_stack() {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* memory = mmap(nullptr, STACK + GUARD, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) fail("no memory for the stacks of %zu threads", threads.size());
    // A stack that overflows must not go on in another one.
    mprotect(memory, GUARD, PROT_NONE);
    return static_cast<unsigned char*>(memory) + GUARD;
}

// What runs on each stack: one thread after the other, until the one that runs waits.
void fiber_main() {
    // Threads that run to their end leave the stack to the next one.
    const int fiber = threads[running_thread].fiber;
    while (true) {
        if (setjmp(fibers[fiber].ended) == 0) {
            kernel(arguments);
            threads[fibers[fiber].thread].state = State::Ended;
        } else {
            threads[fibers[fiber].thread].state = State::Faulted;
        }
        ended++;
        idle.push_back(fiber);
        if (setjmp(fibers[fiber].waiting) == 0) longjmp(scheduler, 1);
        // Another thread was put on this stack.
    }
}

void resume(size_t rank) {
    Thread& thread = threads[rank];
    running_thread = static_cast<int>(rank);
    threadIdx = position(rank);
    if (setjmp(scheduler) != 0) return;
    if (thread.fiber >= 0) longjmp(fibers[thread.fiber].waiting, 1);
    if (idle.empty()) {
        fibers.emplace_back();
        fibers.back().stack = new_stack();
        idle.push_back(static_cast<int>(fibers.size() - 1));
    }
    thread.fiber = idle.back();
    idle.pop_back();
    Fiber& fiber = fibers[thread.fiber];
    fiber.thread = running_thread;
    if (fiber.begun) longjmp(fiber.waiting, 1);
    fiber.begun = true;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = STACK;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, fiber_main, 0);
    setcontext(&fiber.context);
}

// Lets the others go on; returns when what the thread waits for has happened.
void wait(State state, Place place) {
    Thread& thread = threads[running_thread];
    thread.state = state;
    thread.place = place;
    current->waits++;
    const int fiber = thread.fiber, rank = running_thread;
    if (setjmp(fibers[fiber].waiting) == 0) longjmp(scheduler, 1);
    running_thread = rank;
}

bool same(const Place& a, const Place& b) {
    return a.line == b.line && strcmp(a.what, b.what) == 0 && strcmp(a.file, b.file) == 0;
}

// Every thread that lives waits at a barrier: it opens, if it is the same one for all.
void open_barrier() {
    size_t first = threads.size();
    unsigned int yes = 0;
    for (size_t rank = 0; rank < threads.size(); rank++) {
        if (threads[rank].state != State::AtBarrier) continue;
        if (first == threads.size()) first = rank;
        yes += threads[rank].said;
    }
    for (size_t rank = 0; rank < threads.size(); rank++) {
        const Thread &one = threads[first], &other = threads[rank];
        // A thread that has faulted is not waited for.
        if (other.state == State::Ended) {
            fail("divergent barrier: %s waits at `%s` in %s:%u, and %s has returned", Named(first).text,
                 one.place.what, one.place.file, one.place.line, Named(rank).text);
        }
        if (other.state == State::AtBarrier && !same(one.place, other.place)) {
            fail("divergent barrier: %s waits at `%s` in %s:%u, and %s at `%s` in %s:%u", Named(first).text,
                 one.place.what, one.place.file, one.place.line, Named(rank).text, other.place.what,
                 other.place.file, other.place.line);
        }
    }
    for (Thread& thread : threads) {
        if (thread.state != State::AtBarrier) continue;
        thread.yes = yes;
        thread.state = State::Ready;
    }
}

// Whether a lane of a mask is waited for: one that has ended is not, and a block may have fewer lanes.
bool lives(size_t rank) {
    if (rank >= threads.size()) return false;
    return threads[rank].state != State::Ended && threads[rank].state != State::Faulted;
}

// Whether `other` waits for the same as `thread`, which waits for lanes of its warp.
bool is_partner(const Thread& thread, const Thread& other) {
    return other.state == State::InWarp && other.mask == thread.mask && same(other.place, thread.place);
}

// Lets the lanes of a warp go on whose partners are all there.
bool open_warp(size_t first) {
    bool opened = false;
    for (size_t rank = first; rank < first + 32 && rank < threads.size(); rank++) {
        const Thread& thread = threads[rank];
        if (thread.state != State::InWarp) continue;
        Exchange exchange = {};
        memset(exchange.values, UNWRITTEN, sizeof exchange.values);
        bool complete = true;
        for (size_t lane = 0; lane < 32; lane++) {
            const bool is_one = first + lane < threads.size();
            if (is_one && threads[first + lane].state == State::Faulted) exchange.faulted |= 1u << lane;
            if (!(thread.mask >> lane & 1) || !lives(first + lane)) continue;
            const Thread& other = threads[first + lane];
            complete = complete && is_partner(thread, other);
            exchange.there |= 1u << lane;
            memcpy(exchange.values[lane], other.value, WORD);
        }
        if (!complete) continue;
        for (size_t lane = 0; lane < 32; lane++) {
            if (!(exchange.there >> lane & 1)) continue;
            threads[first + lane].exchange = exchange;
            threads[first + lane].state = State::Ready;
        }
        opened = true;
    }
    return opened;
}

// Ends the launch: a thread waits for a lane that waits for something else.
[[noreturn]] void explain(size_t rank) {
    const Thread& thread = threads[rank];
    const Place& at = thread.place;
    for (size_t lane = 0; lane < 32; lane++) {
        const size_t partner = rank / 32 * 32 + lane;
        if (!(thread.mask >> lane & 1) || !lives(partner) || is_partner(thread, threads[partner])) continue;
        const Thread& other = threads[partner];
        const char* mask = other.state == State::InWarp && same(other.place, at) ? ", with another mask" : "";
        fail("divergent warp: %s waits at `%s` in %s:%u for %s, which waits at `%s` in %s:%u%s",
             Named(rank).text, at.what, at.file, at.line, Named(partner).text, other.place.what,
             other.place.file, other.place.line, mask);
    }
    fail("%s waits at `%s` in %s:%u for ever", Named(rank).text, at.what, at.file, at.line);
}

// No thread is ready: something must open, or the threads wait for ever.
void open() {
    bool opened = false;
    for (size_t first = 0; first < threads.size(); first += 32) opened |= open_warp(first);
    if (opened) return;
    for (size_t rank = 0; rank < threads.size(); rank++) {
        if (threads[rank].state == State::InWarp) explain(rank);
    }
    open_barrier();
}

volatile thread_local char anchor;

// The static shared memory is what the library has of its own for each thread of the host: that of this
// thread.
struct Shared {
    unsigned char* data = nullptr;
    size_t bytes = 0;
};

int find_shared(dl_phdr_info* info, size_t, void* found) {
    const auto here = reinterpret_cast<uintptr_t>(&find_shared);
    bool is_this = false;
    size_t bytes = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto& header = info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + header.p_vaddr;
        is_this |= header.p_type == PT_LOAD && from <= here && here - from < header.p_memsz;
        if (header.p_type == PT_TLS) bytes = header.p_memsz;
    }
    if (!is_this) return 0;
    *static_cast<Shared*>(found) = {static_cast<unsigned char*>(info->dlpi_tls_data), bytes};
    return 1;
}

void run_block() {
    // No block finds what another one has left, nor zeros. The memory is there once it was named.
    anchor = 0;
    Shared shared;
    dl_iterate_phdr(find_shared, &shared);
    if (shared.data != nullptr) memset(shared.data, UNWRITTEN, shared.bytes);
    memset(dynamic, UNWRITTEN, current->shared + BEYOND);
    threads.assign(threads.size(), Thread{});
    ended = 0;
    put_in_order(order_of_threads, threads.size());
    while (ended < threads.size()) {
        bool ran = false;
        for (size_t rank : order_of_threads) {
            if (threads[rank].state != State::Ready) continue;
            resume(rank);
            ran = true;
        }
        if (!ran) open();
    }
    for (size_t at = current->shared; at < current->shared + BEYOND; at++) {
        if (dynamic[at] != UNWRITTEN) {
            fail("block (%u, %u, %u) has written byte %zu of %u bytes of dynamic shared memory", blockIdx.x,
                 blockIdx.y, blockIdx.z, at, current->shared);
        }
    }
}

void run_grid() {
    const auto [x, y, z] = current->grid;
    put_in_order(order_of_blocks, size_t(x) * y * z);
    for (const size_t block : order_of_blocks) {
        const auto number = [](size_t value) { return static_cast<unsigned int>(value); };
        blockIdx = {number(block % x), number(block / x % y), number(block / x / y)};
        run_block();
    }
}

}  // namespace

unsigned int block_barrier(Place place, bool said) {
    threads[running_thread].said = said;
    wait(State::AtBarrier, place);
    return threads[running_thread].yes;
}

Exchange warp_exchange(Place place, uint32_t mask, const void* value, size_t bytes) {
    Thread& thread = threads[running_thread];
    if (!(mask >> lane() & 1)) {
        fail("`%s` in %s:%u: %s is lane %u, which its mask %08x does not have", place.what, place.file,
             place.line, Named(running_thread).text, lane(), mask);
    }
    thread.mask = mask;
    memcpy(thread.value, value, bytes);
    wait(State::InWarp, place);
    return threads[running_thread].exchange;
}

unsigned int lane() { return static_cast<unsigned int>(running_thread) % 32; }

unsigned int dynamic_smem_size() { return current->shared; }

void fail(const char* format, ...) {
    va_list values;
    va_start(values, format);
    write(format, values);
    va_end(values);
    // The stacks of the threads that have not ended are used anew.
    longjmp(failure, 1);
}

bool refuse(Launch* of, const char* format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(of->error, sizeof of->error, format, values);
    va_end(values);
    return false;
}

bool launch(Launch* of, void (*of_kernel)(void*), void* of_arguments) {
    const auto [x, y, z] = of->grid;
    const auto [bx, by, bz] = of->block;
    if (x == 0 || y == 0 || z == 0 || x > 0x7fffffffu || y > 65535 || z > 65535) {
        return refuse(of, "no grid is %u x %u x %u blocks", x, y, z);
    }
    if (bx == 0 || by == 0 || bz == 0 || bx > 1024 || by > 1024 || bz > 64 || uint64_t(bx) * by * bz > 1024) {
        return refuse(of, "no block has %u x %u x %u threads", bx, by, bz);
    }
    if (of->shared > DYNAMIC) return refuse(of, "a block has no %u bytes of shared memory", of->shared);
    const std::lock_guard<std::mutex> lock(running);
    of->fault_count = 0;
    of->waits = 0;
    of->error[0] = 0;
    owner = pthread_self();
    current = of;
    kernel = of_kernel;
    arguments = of_arguments;
    gridDim = {x, y, z};
    blockDim = {bx, by, bz};
    steps = 0;
    random_state = of->order;
    threads.assign(size_t(bx) * by * bz, Thread{});
    // A fiber's address is in its context.
    fibers.reserve(1024);
    if (setjmp(failure) == 0) {
        run_grid();
        current = nullptr;
        return true;
    }
    current = nullptr;
    idle.clear();
    for (size_t fiber = 0; fiber < fibers.size(); fiber++) {
        fibers[fiber].begun = false;
        idle.push_back(static_cast<int>(fiber));
    }
    return false;
}

}  // namespace on_host

void faulted(unsigned int line) {
    using namespace on_host;
    const uint64_t number = current->fault_count++;
    if (number < current->room) {
        const uint3 block = blockIdx, thread = threadIdx;
        current->faults[number] = {line, {block.x, block.y, block.z}, {thread.x, thread.y, thread.z}};
    }
    longjmp(fibers[threads[running_thread].fiber].ended, 1);
}

// Called at each basic block of a text that was compiled so: a loop without an end is an error.
extern "C" void __sanitizer_cov_trace_pc() {
    using namespace on_host;
    // Another thread of the host may be about to wait for the launch to end.
    if (current == nullptr || !pthread_equal(owner, pthread_self())) return;
    const unsigned long long most = current->steps;
    if (++steps > most) fail("the launch has run for more than %llu steps", most);
}
