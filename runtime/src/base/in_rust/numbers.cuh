// Rust's numbers in C++: their names, what is known of each, and `as`.
//
// The same text is compiled by NVRTC for a GPU and, in tests, by a host's compiler. What a test on a host
// says holds for a GPU but for the code under `#ifdef __CUDACC_RTC__`, which is in these places only:
//   1. the macros below;
//   2. `namespace tw::machine` below: infinity and NaN, the bits of floats, floats to integers, the high half
//      of a product, and the counting and reversing of bits;
//   3. blocks.cuh: `tw::undefined` and `tw::has_threads`;
//   4. halves.cuh: `f32` to `f16`, and `f16` to `f32`;
//   5. `tw::fault` and `tw::too_little`, which are defined after the headers.
#ifndef THALWEG_NUMBERS
#define THALWEG_NUMBERS

// No compiler is to warn of what a kernel does not use.
#ifdef __CUDACC_RTC__
#define TW_DEVICE __attribute__((unused)) __device__
#define TW_MEMBER __device__ __forceinline__
#define TW_FN static __attribute__((unused)) __device__ __forceinline__
#define TW_UNROLL _Pragma("unroll")
// NVRTC has no `offsetof`.
#define TW_OFFSET(type, field) __INTADDR__(&((type*)0)->field)
#define TW_PRAGMA(text) _Pragma(#text)
#define TW_UNROLL_BY(turns) TW_PRAGMA(unroll turns)
#else
#include <math.h>
#define TW_DEVICE __attribute__((unused)) inline
#define TW_MEMBER inline
#define TW_FN static __attribute__((unused)) inline
#define TW_UNROLL
#define TW_OFFSET(type, field) __builtin_offsetof(type, field)
#define TW_UNROLL_BY(turns)
#endif
#define TW_UNLIKELY(condition) __builtin_expect(bool(condition), 0)

// The types of literals with `ull` and `ll`: with `long`, there would be two types of 64 bits.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned long long usize;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef long long isize;
typedef float f32;
typedef double f64;

static_assert(sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8, "the integers have Rust's sizes");
static_assert(sizeof(f32) == 4 && sizeof(f64) == 8, "the floats have Rust's sizes");

namespace tw {

/// Ends the thread, as a panic does in Rust. What calls it has a defined result nevertheless: no compiler may
/// conclude from what is undefined after the call that there is none.
static TW_DEVICE void fault(u32 line);

/// Tuples. C++'s own has no names for its parts.
template <class... Parts> struct Tuple;
template <class A> struct Tuple<A> { A _0; };
template <class A, class B> struct Tuple<A, B> { A _0; B _1; };
template <class A, class B, class C> struct Tuple<A, B, C> { A _0; B _1; C _2; };
template <class A, class B, class C, class D> struct Tuple<A, B, C, D> { A _0; B _1; C _2; D _3; };
template <class A, class B, class C, class D, class E> struct Tuple<A, B, C, D, E> {
    A _0; B _1; C _2; D _3; E _4;
};
template <class A, class B, class C, class D, class E, class F> struct Tuple<A, B, C, D, E, F> {
    A _0; B _1; C _2; D _3; E _4; F _5;
};
template <class A, class B, class C, class D, class E, class F, class G>
struct Tuple<A, B, C, D, E, F, G> {
    A _0; B _1; C _2; D _3; E _4; F _5; G _6;
};
template <class A, class B, class C, class D, class E, class F, class G, class H>
struct Tuple<A, B, C, D, E, F, G, H> {
    A _0; B _1; C _2; D _3; E _4; F _5; G _6; H _7;
};
template <class A, class B, class C, class D, class E, class F, class G, class H, class I>
struct Tuple<A, B, C, D, E, F, G, H, I> {
    A _0; B _1; C _2; D _3; E _4; F _5; G _6; H _7; I _8;
};
template <class A, class B, class C, class D, class E, class F, class G, class H, class I, class J>
struct Tuple<A, B, C, D, E, F, G, H, I, J> {
    A _0; B _1; C _2; D _3; E _4; F _5; G _6; H _7; I _8; J _9;
};
template <class A, class B, class C, class D, class E, class F, class G, class H, class I, class J, class K>
struct Tuple<A, B, C, D, E, F, G, H, I, J, K> {
    A _0; B _1; C _2; D _3; E _4; F _5; G _6; H _7; I _8; J _9; K _10;
};
template <class A, class B, class C, class D, class E, class F, class G, class H, class I, class J, class K, class L>
struct Tuple<A, B, C, D, E, F, G, H, I, J, K, L> {
    A _0; B _1; C _2; D _3; E _4; F _5; G _6; H _7; I _8; J _9; K _10; L _11;
};
/// A tuple whose parts have types that C++ finds itself.
template <class... Parts> Tuple(Parts...) -> Tuple<Parts...>;
/// A tuple whose parts have types that C++ finds.
template <class... Parts> TW_FN Tuple<Parts...> tuple_of(Parts... parts) { return {parts...}; }

// --- What is known of each type.

/// The facts of a type. A type that is none of Rust's numbers has none, so that no function takes it.
template <class T> struct Number {};

template <class T, class U, class W, class D> struct OfInteger {
    typedef T Any, Integer, NoFloat;
    /// The unsigned integer of the same size.
    typedef U AsUnsigned;
    /// The unsigned integer in which C++ computes: it promotes what is narrower to `int`, whose overflow is
    /// undefined.
    typedef W Wide;
    /// A type that has every product of two.
    typedef D Double;
    static constexpr u32 bits = sizeof(T) * 8;
    static constexpr u32 wide_bits = sizeof(W) * 8;
    /// The bits of `Wide` that `T` does not have.
    static constexpr W outside = W(~(W(~W(0)) >> (wide_bits - bits)));
};

template <class T, class W, class D> struct OfUnsigned : OfInteger<T, T, W, D> {
    typedef T Unsigned;
    static constexpr bool is_signed = false;
    static constexpr T least = 0;
    static constexpr T greatest = T(~T(0));
};

template <class T, class U, class W, class D> struct OfSigned : OfInteger<T, U, W, D> {
    typedef T Signed;
    static constexpr bool is_signed = true;
    static constexpr T greatest = T(U(~U(0)) >> 1);
    static constexpr T least = T(-greatest - 1);
};

template <class T, class B> struct OfFloat {
    typedef T Any, Float;
    /// The integer with its bits.
    typedef B Bits;
};

template <> struct Number<u8> : OfUnsigned<u8, u32, u32> {};
template <> struct Number<u16> : OfUnsigned<u16, u32, u32> {};
template <> struct Number<u32> : OfUnsigned<u32, u32, u64> {};
template <> struct Number<u64> : OfUnsigned<u64, u64, void> {};
template <> struct Number<i8> : OfSigned<i8, u8, u32, i32> {};
template <> struct Number<i16> : OfSigned<i16, u16, u32, i32> {};
template <> struct Number<i32> : OfSigned<i32, u32, u32, i64> {};
template <> struct Number<i64> : OfSigned<i64, u64, u64, void> {};
template <> struct Number<bool> { typedef bool NoFloat; };
template <> struct Number<f32> : OfFloat<f32, u32> {
    static constexpr u32 sign = 1u << 31, exponent = 0x7f800000u;
};
template <> struct Number<f64> : OfFloat<f64, u64> {
    static constexpr u64 sign = 1ull << 63, exponent = 0x7ff0000000000000ull;
};

// `T` itself, if it is of the kind: as a result, it keeps a function from all other types.
template <class T> using Any = typename Number<T>::Any;
template <class T> using Integer = typename Number<T>::Integer;
template <class T> using Unsigned = typename Number<T>::Unsigned;
template <class T> using Signed = typename Number<T>::Signed;
template <class T> using Float = typename Number<T>::Float;
template <class T> using Bits = typename Number<T>::Bits;
template <class T> using AsUnsigned = typename Number<T>::AsUnsigned;
template <class T> using Wide = typename Number<T>::Wide;

/// An argument of this type and of no other: C++ converts numbers silently.
template <class T> struct Only {
    T value;

    TW_MEMBER Only(T value) : value(value) {}
    template <class Other> Only(Other) = delete;
    TW_MEMBER operator T() const { return value; }
};

/// The second type, if the first is one.
template <class First, class Second> struct Both { typedef Second Type; };

// --- What a GPU and a host do differently.

namespace machine {
#ifdef __CUDACC_RTC__
template <class T> TW_FN constexpr T infinity() { return T(1) / T(0); }
// The compiler computes as x86 does, where the quotient's sign is set.
template <class T> TW_FN constexpr T nan() { return -(T(0) / T(0)); }

TW_FN u32 bits_of(f32 x) { return __float_as_uint(x); }
TW_FN u64 bits_of(f64 x) { return u64(__double_as_longlong(x)); }
TW_FN f32 of_bits(u32 x) { return __uint_as_float(x); }
TW_FN f64 of_bits(u64 x) { return __longlong_as_double(i64(x)); }

// PTX defines these for every value, CUDA's functions like `__float2int_rz` only for those that fit. Where it
// says that NaN is not 0, `truncated` sees to it.
#define TW_TRUNCATE(to, from, instruction, to_register, from_register)                        \
    TW_FN to saturated(from x, to) {                                                          \
        to whole;                                                                             \
        asm("cvt.rzi." instruction " %0, %1;" : "=" to_register(whole) : from_register(x));   \
        return whole;                                                                         \
    }
TW_TRUNCATE(u32, f32, "u32.f32", "r", "f")
TW_TRUNCATE(i32, f32, "s32.f32", "r", "f")
TW_TRUNCATE(u64, f32, "u64.f32", "l", "f")
TW_TRUNCATE(i64, f32, "s64.f32", "l", "f")
TW_TRUNCATE(u32, f64, "u32.f64", "r", "d")
TW_TRUNCATE(i32, f64, "s32.f64", "r", "d")
TW_TRUNCATE(u64, f64, "u64.f64", "l", "d")
TW_TRUNCATE(i64, f64, "s64.f64", "l", "d")
#undef TW_TRUNCATE
template <class F, class T> TW_FN T truncated(F x, T to) { return x == x ? saturated(x, to) : T(0); }
TW_FN u32 truncated(f32 x, u32 to) { return saturated(x, to); }
TW_FN i32 truncated(f32 x, i32 to) { return saturated(x, to); }

TW_FN u64 high(u64 a, u64 b) { return __umul64hi(a, b); }
TW_FN i64 high(i64 a, i64 b) { return __mul64hi(a, b); }

TW_FN u32 leading_zeros(u32 x) { return u32(__clz(i32(x))); }
TW_FN u32 leading_zeros(u64 x) { return u32(__clzll(i64(x))); }
TW_FN u32 ones(u32 x) { return u32(__popc(x)); }
TW_FN u32 ones(u64 x) { return u32(__popcll(x)); }
TW_FN u32 reversed(u32 x) { return __brev(x); }
TW_FN u64 reversed(u64 x) { return __brevll(x); }
#else
template <class T> TW_FN constexpr T infinity() { return T(__builtin_huge_val()); }
template <class T> TW_FN constexpr T nan() { return T(__builtin_nan("")); }

template <class To, class From> TW_FN To copied(From from) {
    static_assert(sizeof(To) == sizeof(From), "the two have the same size");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
TW_FN u32 bits_of(f32 x) { return copied<u32>(x); }
TW_FN u64 bits_of(f64 x) { return copied<u64>(x); }
TW_FN f32 of_bits(u32 x) { return copied<f32>(x); }
TW_FN f64 of_bits(u64 x) { return copied<f64>(x); }

template <class F, class T> TW_FN T truncated(F x, T) {
    // The first power of two that is too great, which a float has exactly.
    const F beyond = F(Number<T>::greatest / 2 + 1) * 2;
    if (x != x) return 0;
    if (x >= beyond) return Number<T>::greatest;
    if (x <= (Number<T>::is_signed ? -beyond : F(0))) return Number<T>::least;
    return T(x);
}

TW_FN u64 high(u64 a, u64 b) { return u64(((unsigned __int128)(a) * b) >> 64); }
TW_FN i64 high(i64 a, i64 b) { return i64(((__int128)(a) * b) >> 64); }

TW_FN u32 leading_zeros(u32 x) { return x == 0 ? 32u : u32(__builtin_clz(x)); }
TW_FN u32 leading_zeros(u64 x) { return x == 0 ? 64u : u32(__builtin_clzll(x)); }
TW_FN u32 ones(u32 x) { return u32(__builtin_popcount(x)); }
TW_FN u32 ones(u64 x) { return u32(__builtin_popcountll(x)); }
TW_FN u32 reversed(u32 x) {
    u32 turned = 0;
    for (u32 bit = 0; bit < 32; ++bit) turned |= (x >> bit & 1u) << (31 - bit);
    return turned;
}
TW_FN u64 reversed(u64 x) { return u64(reversed(u32(x))) << 32 | reversed(u32(x >> 32)); }
#endif
}  // namespace machine

// --- Values and bits.

template <class T> TW_FN constexpr Float<T> infinity() { return machine::infinity<T>(); }
template <class T> TW_FN constexpr Float<T> nan() { return machine::nan<T>(); }

/// `x.to_bits()`
template <class T> TW_FN Bits<T> to_bits(T x) { return machine::bits_of(x); }
/// `T::from_bits(bits)`
template <class T> TW_FN Float<T> from_bits(Only<Bits<T>> bits) { return machine::of_bits(bits.value); }

// --- `x as To`.

/// `as` of integers and `bool`: integers wrap, floats are the nearest, ties to even.
template <class To, class From>
TW_FN typename Both<typename Number<From>::NoFloat, Any<To>>::Type cast(From x) {
    return To(x);
}

/// `as` from a float to a float: the nearest, ties to even, and infinity where that is too great.
template <class To, class From> TW_FN typename Both<Float<From>, Float<To>>::Type cast(From x) {
    return To(x);
}

namespace machine {
/// A float as an integer of at least 32 bits, and as a narrower one by way of those.
template <class T, bool is_narrow = Number<T>::bits < 32, bool is_signed = Number<T>::is_signed>
struct Whole {
    template <class F> TW_FN T of(F x) { return truncated(x, T()); }
};
template <class T> struct Whole<T, true, false> {
    template <class F> TW_FN T of(F x) {
        const u32 whole = truncated(x, u32()), greatest = Number<T>::greatest;
        return T(whole > greatest ? greatest : whole);
    }
};
template <class T> struct Whole<T, true, true> {
    template <class F> TW_FN T of(F x) {
        const i32 whole = truncated(x, i32()), least = Number<T>::least, greatest = Number<T>::greatest;
        return T(whole < least ? least : whole > greatest ? greatest : whole);
    }
};
}  // namespace machine

/// `as` from a float to an integer: truncated, the least or greatest integer where that is too far, 0 of NaN.
template <class To, class From> TW_FN typename Both<Float<From>, Integer<To>>::Type cast(From x) {
    return machine::Whole<To>::of(x);
}

}  // namespace tw
#endif
