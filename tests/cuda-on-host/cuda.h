// Stands for CUDA where its C++ is compiled for the host: the words, types and functions of the device that
// the kernels here use. A function that is missing is an error of the compiler.
#ifndef CUDA_ON_HOST
#define CUDA_ON_HOST

#include <limits.h>
#include <math.h>
#include <string.h>

#include <tuple>
#include <type_traits>
#include <utility>

#include "core.h"

// --- Words. The Rust side has rewritten `extern __shared__ T name[];` before the compiler sees it.

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
// What a library has of its own for each thread of the host is the shared memory of one block: a launch stays
// on its thread, and runs one block after the other.
#define __shared__ static thread_local

// --- Vectors.

#define ON_HOST_VECTORS(type, name, align_of_2, align_of_4)                                 \
    struct name##1 { type x; };                                                             \
    struct __attribute__((aligned(align_of_2))) name##2 { type x, y; };                     \
    struct __attribute__((aligned(align_of_4))) name##4 { type x, y, z, w; };               \
    static inline name##1 make_##name##1(type x) { return {x}; }                            \
    static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                 \
    static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }      \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

struct char3 { signed char x, y, z; };
struct uchar3 { unsigned char x, y, z; };
struct short3 { short x, y, z; };
struct ushort3 { unsigned short x, y, z; };
struct int3 { int x, y, z; };
struct longlong3 { long long x, y, z; };
struct ulonglong3 { unsigned long long x, y, z; };
struct float3 { float x, y, z; };
struct double3 { double x, y, z; };
ON_HOST_VECTORS(signed char, char, 2, 4)
ON_HOST_VECTORS(unsigned char, uchar, 2, 4)
ON_HOST_VECTORS(short, short, 4, 8)
ON_HOST_VECTORS(unsigned short, ushort, 4, 8)
ON_HOST_VECTORS(int, int, 8, 16)
ON_HOST_VECTORS(unsigned int, uint, 8, 16)
ON_HOST_VECTORS(long long, longlong, 16, 16)
ON_HOST_VECTORS(unsigned long long, ulonglong, 16, 16)
ON_HOST_VECTORS(float, float, 8, 16)
ON_HOST_VECTORS(double, double, 16, 16)
#undef ON_HOST_VECTORS

// --- Barriers. The last arguments are the place of the call.

#define ON_HOST_PLACE const char *file = __builtin_FILE(), unsigned int line = __builtin_LINE()

static inline void __syncthreads(ON_HOST_PLACE) {
    on_host::block_barrier({"__syncthreads", file, line}, false);
}
static inline int __syncthreads_or(int said, ON_HOST_PLACE) {
    return on_host::block_barrier({"__syncthreads_or", file, line}, said != 0) > 0;
}
static inline int __syncthreads_and(int said, ON_HOST_PLACE) {
    return on_host::block_barrier({"__syncthreads_and", file, line}, said == 0) == 0;
}
static inline int __syncthreads_count(int said, ON_HOST_PLACE) {
    return static_cast<int>(on_host::block_barrier({"__syncthreads_count", file, line}, said != 0));
}
static inline void __syncwarp(unsigned int mask = 0xffffffffu, ON_HOST_PLACE) {
    on_host::warp_exchange({"__syncwarp", file, line}, mask, nullptr, 0);
}
static inline void __threadfence_block() {}
static inline void __threadfence() {}
static inline void __threadfence_system() {}

// --- Warps.

namespace on_host {

// What lane `source` has brought. That of a lane which the mask does not have, or which has faulted, is undefined:
// a NaN, or all bits.
template <class T> T brought(const Exchange& exchange, Place place, unsigned int mask, unsigned int source) {
    if ((mask >> source & 1) && !((exchange.there | exchange.faulted) >> source & 1)) {
        fail("`%s` in %s:%u: lane %u reads lane %u, which has ended or which the block does not have",
             place.what, place.file, place.line, lane(), source);
    }
    T value;
    memcpy(&value, exchange.values[source], sizeof value);
    return value;
}

template <class T, class Source>
T shuffle(Place place, unsigned int mask, T value, int width, Source source) {
    static_assert(std::is_arithmetic<T>::value, "CUDA has shuffles of numbers alone");
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA has shuffles of 32 and 64 bits");
    if (width < 1 || width > 32 || (width & (width - 1)) != 0) {
        fail("`%s` in %s:%u: the width %d is not a power of 2 up to 32", place.what, place.file, place.line,
             width);
    }
    const Exchange exchange = warp_exchange(place, mask, &value, sizeof value);
    const int own = static_cast<int>(lane()), first = own & ~(width - 1);
    const int from = source(own, first, first + width - 1);
    return brought<T>(exchange, place, mask, static_cast<unsigned int>(from));
}

// The lanes that said yes.
static inline unsigned int votes(Place place, unsigned int mask, bool said) {
    const unsigned char one = said;
    const Exchange exchange = warp_exchange(place, mask, &one, 1);
    unsigned int yes = 0;
    for (unsigned int lane = 0; lane < 32; lane++) {
        if ((exchange.there >> lane & 1) && exchange.values[lane][0] == 1) yes |= 1u << lane;
    }
    return yes;
}

}  // namespace on_host

template <class T> T __shfl_sync(unsigned int mask, T value, int lane, int width = 32, ON_HOST_PLACE) {
    return on_host::shuffle({"__shfl_sync", file, line}, mask, value, width,
                            [=](int, int first, int) { return first + (lane & (width - 1)); });
}
template <class T>
T __shfl_up_sync(unsigned int mask, T value, unsigned int by, int width = 32, ON_HOST_PLACE) {
    return on_host::shuffle({"__shfl_up_sync", file, line}, mask, value, width, [=](int own, int first, int) {
        const int from = own - static_cast<int>(by & 31);
        return from < first ? own : from;
    });
}
template <class T>
T __shfl_down_sync(unsigned int mask, T value, unsigned int by, int width = 32, ON_HOST_PLACE) {
    const auto source = [=](int own, int, int last) {
        const int from = own + static_cast<int>(by & 31);
        return from > last ? own : from;
    };
    return on_host::shuffle({"__shfl_down_sync", file, line}, mask, value, width, source);
}
template <class T> T __shfl_xor_sync(unsigned int mask, T value, int by, int width = 32, ON_HOST_PLACE) {
    return on_host::shuffle({"__shfl_xor_sync", file, line}, mask, value, width, [=](int own, int, int last) {
        const int from = own ^ (by & 31);
        return from > last ? own : from;
    });
}
static inline unsigned int __ballot_sync(unsigned int mask, int said, ON_HOST_PLACE) {
    return on_host::votes({"__ballot_sync", file, line}, mask, said != 0);
}
static inline int __any_sync(unsigned int mask, int said, ON_HOST_PLACE) {
    return on_host::votes({"__any_sync", file, line}, mask, said != 0) != 0;
}
static inline int __all_sync(unsigned int mask, int said, ON_HOST_PLACE) {
    return on_host::votes({"__all_sync", file, line}, mask, said == 0) == 0;
}
#undef ON_HOST_PLACE

// --- Atomics, of the types that CUDA has them for. Nothing happens at the same time on the host.

#define ON_HOST_ATOMIC(name, type, result)             \
    static inline type name(type* at, type by) {       \
        const type old = *at;                          \
        *at = static_cast<type>(result);               \
        return old;                                    \
    }
#define ON_HOST_ATOMIC_OF_INTEGERS(name, result)       \
    ON_HOST_ATOMIC(name, int, result)                  \
    ON_HOST_ATOMIC(name, unsigned int, result)         \
    ON_HOST_ATOMIC(name, unsigned long long, result)
// The sum of two `int` wraps.
ON_HOST_ATOMIC(atomicAdd, int, static_cast<unsigned int>(old) + static_cast<unsigned int>(by))
ON_HOST_ATOMIC(atomicAdd, unsigned int, old + by)
ON_HOST_ATOMIC(atomicAdd, unsigned long long, old + by)
ON_HOST_ATOMIC(atomicAdd, float, old + by)
ON_HOST_ATOMIC(atomicAdd, double, old + by)
ON_HOST_ATOMIC(atomicSub, int, static_cast<unsigned int>(old) - static_cast<unsigned int>(by))
ON_HOST_ATOMIC(atomicSub, unsigned int, old - by)
ON_HOST_ATOMIC_OF_INTEGERS(atomicExch, by)
ON_HOST_ATOMIC(atomicExch, float, by)
ON_HOST_ATOMIC_OF_INTEGERS(atomicMin, by < old ? by : old)
ON_HOST_ATOMIC(atomicMin, long long, by < old ? by : old)
ON_HOST_ATOMIC_OF_INTEGERS(atomicMax, by > old ? by : old)
ON_HOST_ATOMIC(atomicMax, long long, by > old ? by : old)
ON_HOST_ATOMIC_OF_INTEGERS(atomicAnd, old & by)
ON_HOST_ATOMIC_OF_INTEGERS(atomicOr, old | by)
ON_HOST_ATOMIC_OF_INTEGERS(atomicXor, old ^ by)
ON_HOST_ATOMIC(atomicInc, unsigned int, old >= by ? 0 : old + 1)
ON_HOST_ATOMIC(atomicDec, unsigned int, old == 0 || old > by ? by : old - 1)
#undef ON_HOST_ATOMIC_OF_INTEGERS
#undef ON_HOST_ATOMIC

#define ON_HOST_CAS(type)                                               \
    static inline type atomicCAS(type* at, type expected, type value) { \
        const type old = *at;                                           \
        if (old == expected) *at = value;                               \
        return old;                                                     \
    }
ON_HOST_CAS(unsigned short)
ON_HOST_CAS(int)
ON_HOST_CAS(unsigned int)
ON_HOST_CAS(unsigned long long)
#undef ON_HOST_CAS

// --- Numbers.

// C leaves open what a signaling NaN does, and which of two zeros is meant. PTX does not: a number comes before
// any NaN, and -0 before 0.
template <class T> T number_or_lesser(T a, T b) {
    if (a != a || b != b) return a != a ? b : a;
    return a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}
template <class T> T number_or_greater(T a, T b) {
    if (a != a || b != b) return a != a ? b : a;
    return a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}
#define fmin number_or_lesser<double>
#define fmax number_or_greater<double>
#define fminf number_or_lesser<float>
#define fmaxf number_or_greater<float>

template <class A, class B> constexpr auto min(A a, B b) {
    using Common = decltype(a + b);
    const auto x = static_cast<Common>(a), y = static_cast<Common>(b);
    if constexpr (std::is_floating_point<Common>::value) return static_cast<Common>(fmin(x, y));
    else return x < y ? x : y;
}
template <class A, class B> constexpr auto max(A a, B b) {
    using Common = decltype(a + b);
    const auto x = static_cast<Common>(a), y = static_cast<Common>(b);
    if constexpr (std::is_floating_point<Common>::value) return static_cast<Common>(fmax(x, y));
    else return x > y ? x : y;
}

template <class T> T __ldg(const T* at) { return *at; }

// Each is rounded by itself: the text is compiled without fusing.
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __fsqrt_rn(float a) { return sqrtf(a); }
static inline float __frcp_rn(float a) { return 1.0f / a; }
static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __dsqrt_rn(double a) { return sqrt(a); }
static inline double __drcp_rn(double a) { return 1.0 / a; }
static inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

namespace on_host {

template <class To, class From> To bits_of(From from) {
    static_assert(sizeof(To) == sizeof(From), "the bits of one are those of the other");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

// A number beyond the range of an integer becomes the nearest one, and NaN 0, as GPUs convert.
template <class To, class From> To saturated(From from, To least, To most) {
    if (from != from) return 0;
    if (from <= static_cast<From>(least)) return least;
    if (from >= static_cast<From>(most)) return most;
    return static_cast<To>(from);
}

}  // namespace on_host

static inline int __float_as_int(float x) { return on_host::bits_of<int>(x); }
static inline unsigned int __float_as_uint(float x) { return on_host::bits_of<unsigned int>(x); }
static inline float __int_as_float(int x) { return on_host::bits_of<float>(x); }
static inline float __uint_as_float(unsigned int x) { return on_host::bits_of<float>(x); }
static inline long long __double_as_longlong(double x) { return on_host::bits_of<long long>(x); }
static inline double __longlong_as_double(long long x) { return on_host::bits_of<double>(x); }

static inline int __float2int_rn(float x) { return on_host::saturated(rintf(x), INT_MIN, INT_MAX); }
static inline int __float2int_rz(float x) { return on_host::saturated(truncf(x), INT_MIN, INT_MAX); }
static inline unsigned int __float2uint_rn(float x) { return on_host::saturated(rintf(x), 0u, UINT_MAX); }
static inline unsigned int __float2uint_rz(float x) { return on_host::saturated(truncf(x), 0u, UINT_MAX); }

static inline int __popc(unsigned int x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(x)); }
static inline int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline unsigned int __brev(unsigned int x) {
    unsigned int reversed = 0;
    for (int bit = 0; bit < 32; bit++) reversed |= (x >> bit & 1u) << (31 - bit);
    return reversed;
}
static inline unsigned long long __brevll(unsigned long long x) {
    const unsigned long long low = __brev(static_cast<unsigned int>(x));
    return low << 32 | __brev(static_cast<unsigned int>(x >> 32));
}
static inline unsigned int __umulhi(unsigned int a, unsigned int b) {
    return static_cast<unsigned int>(static_cast<unsigned long long>(a) * b >> 32);
}
static inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
static inline long long __mul64hi(long long a, long long b) {
    return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}

// --- Launches.

namespace on_host {

template <class... A> struct Call {
    void (*kernel)(A...);
    std::tuple<std::decay_t<A>...> arguments;
};

template <class... A>
bool start(void (*kernel)(A...), Launch* of, const void* const* values, const size_t* sizes, size_t count) {
    constexpr size_t expected[] = {sizeof(A)..., 0};
    if (count != sizeof...(A)) {
        return refuse(of, "the kernel has %zu arguments, not %zu", sizeof...(A), count);
    }
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] != expected[i]) {
            return refuse(of, "argument %zu has %zu bytes, not %zu", i, expected[i], sizes[i]);
        }
    }
    Call<A...> call{kernel, {}};
    size_t next = 0;
    std::apply([&](auto&... each) { (memcpy(static_cast<void*>(&each), values[next++], sizeof each), ...); },
               call.arguments);
    const auto run = [](void* of) {
        auto* call = static_cast<Call<A...>*>(of);
        std::apply(call->kernel, call->arguments);
    };
    return launch(of, run, &call);
}

}  // namespace on_host

#endif
