// The types `f16` and `bf16` of Rust's crate `half`, in C++.
//
// As in that crate, an operator computes in `f32` and rounds the result to the nearest, ties to even. So every
// result has the bits of a host, but for the payloads of NaNs.
#ifndef THALWEG_HALVES
#define THALWEG_HALVES

struct f16;
struct bf16;

namespace tw {
namespace machine {

TW_FN f32 f32_of(f16 x);
TW_FN f32 f32_of(bf16 x);

#ifdef __CUDACC_RTC__
TW_FN u16 bits_of_f16(f32 x) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
TW_FN f32 f32_of_f16(u16 bits) {
    f32 x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
#else
/// `bits >> by` to the nearest, ties to even. `by` is 1 to 31.
TW_FN u32 shifted_to_nearest(u32 bits, u32 by) {
    const u32 whole = bits >> by, rest = bits << (32 - by), half = 1u << 31;
    return whole + (rest > half || (rest == half && (whole & 1u)) ? 1u : 0u);
}
TW_FN u16 bits_of_f16(f32 x) {
    const u32 bits = bits_of(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return u16(sign | 0x7e00u);
    // 65520 and more are infinite.
    if (magnitude >= 0x477ff000u) return u16(sign | 0x7c00u);
    // Below the least normal number all have its exponent.
    if (magnitude < 0x38800000u) {
        const u32 by = 126u - (magnitude >> 23), mantissa = (magnitude & 0x7fffffu) | 0x800000u;
        return u16(sign | (by > 24 ? 0u : shifted_to_nearest(mantissa, by)));
    }
    return u16(sign | shifted_to_nearest(magnitude - 0x38000000u, 13));
}
TW_FN f32 f32_of_f16(u16 half) {
    const u32 sign = u32(half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    if (magnitude >= 0x7c00u) return of_bits(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    // A subnormal number is a multiple of 2^-24.
    if (magnitude < 0x400u) return of_bits(sign | bits_of(f32(magnitude) * 5.9604644775390625e-8f));
    return of_bits(sign | ((magnitude << 13) + 0x38000000u));
}
#endif

TW_FN u16 bits_of_bf16(f32 x) {
    const u32 bits = bits_of(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return u16(bits >> 16 | 0x40u);
    return u16((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace machine
}  // namespace tw

/// `half::f16`
struct f16 {
    u16 bits;

    TW_MEMBER explicit operator f32() const { return tw::machine::f32_of(*this); }
    TW_MEMBER explicit operator f64() const { return tw::machine::f32_of(*this); }
};
/// `half::bf16`
struct bf16 {
    u16 bits;

    TW_MEMBER explicit operator f32() const { return tw::machine::f32_of(*this); }
    TW_MEMBER explicit operator f64() const { return tw::machine::f32_of(*this); }
};
static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2, "the halves have Rust's sizes");

namespace tw {

template <> struct Number<f16> {
    typedef f16 Half;
    static constexpr u16 exponent = 0x7c00u;
};
template <> struct Number<bf16> {
    typedef bf16 Half;
    static constexpr u16 exponent = 0x7f80u;
};
template <class T> using Half = typename Number<T>::Half;

namespace machine {
TW_FN f32 f32_of(f16 x) { return f32_of_f16(x.bits); }
TW_FN f32 f32_of(bf16 x) { return of_bits(u32(x.bits) << 16); }
TW_FN f16 rounded(f32 x, f16) { return {bits_of_f16(x)}; }
TW_FN bf16 rounded(f32 x, bf16) { return {bits_of_bf16(x)}; }
}  // namespace machine

// --- Conversions.

template <class T> TW_FN Half<T> from_f32(Only<f32> x) { return machine::rounded(x, T()); }
template <class T> TW_FN typename Both<Half<T>, f32>::Type to_f32(T x) { return machine::f32_of(x); }
template <class T> TW_FN typename Both<Half<T>, f64>::Type to_f64(T x) { return machine::f32_of(x); }
template <class T> TW_FN Half<T> from_bits(Only<u16> bits) { return T{bits.value}; }
template <class T> TW_FN typename Both<Half<T>, u16>::Type to_bits(T x) { return x.bits; }

// --- Operators and what the translator writes in their place.

#define TW_OF_HALVES(T)                                                                              \
    TW_FN T operator+(T a, T b) { return tw::from_f32<T>(f32(a) + f32(b)); }                         \
    TW_FN T operator-(T a, T b) { return tw::from_f32<T>(f32(a) - f32(b)); }                         \
    TW_FN T operator*(T a, T b) { return tw::from_f32<T>(f32(a) * f32(b)); }                         \
    TW_FN T operator/(T a, T b) { return tw::from_f32<T>(f32(a) / f32(b)); }                         \
    TW_FN T operator-(T x) { return {u16(x.bits ^ 0x8000u)}; }                                       \
    TW_FN T& operator+=(T& a, T b) { return a = a + b; }                                             \
    TW_FN T& operator-=(T& a, T b) { return a = a - b; }                                             \
    TW_FN T& operator*=(T& a, T b) { return a = a * b; }                                             \
    TW_FN T& operator/=(T& a, T b) { return a = a / b; }                                             \
    TW_FN bool operator==(T a, T b) { return f32(a) == f32(b); }                                     \
    TW_FN bool operator!=(T a, T b) { return f32(a) != f32(b); }                                     \
    TW_FN bool operator<(T a, T b) { return f32(a) < f32(b); }                                       \
    TW_FN bool operator<=(T a, T b) { return f32(a) <= f32(b); }                                     \
    TW_FN bool operator>(T a, T b) { return f32(a) > f32(b); }                                       \
    TW_FN bool operator>=(T a, T b) { return f32(a) >= f32(b); }
}  // namespace tw
TW_OF_HALVES(f16)
TW_OF_HALVES(bf16)
#undef TW_OF_HALVES
namespace tw {

template <class T> TW_FN Half<T> add(T a, T b) { return a + b; }
template <class T> TW_FN Half<T> add(T a, T b, u32) { return a + b; }
template <class T> TW_FN Half<T> sub(T a, T b) { return a - b; }
template <class T> TW_FN Half<T> sub(T a, T b, u32) { return a - b; }
template <class T> TW_FN Half<T> mul(T a, T b) { return a * b; }
template <class T> TW_FN Half<T> mul(T a, T b, u32) { return a * b; }
template <class T> TW_FN Half<T> div(T a, T b, u32) { return a / b; }
template <class T> TW_FN Half<T> rem(T a, T b) { return from_f32<T>(rem(f32(a), f32(b))); }
template <class T> TW_FN Half<T> rem(T a, T b, u32) { return rem(a, b); }
template <class T> TW_FN Half<T> neg(T x) { return -x; }
template <class T> TW_FN Half<T> neg(T x, u32) { return -x; }

// --- Methods.

template <class T> TW_FN typename Both<Half<T>, bool>::Type is_nan(T x) {
    return (x.bits & 0x7fffu) > Number<T>::exponent;
}
template <class T> TW_FN typename Both<Half<T>, bool>::Type is_infinite(T x) {
    return (x.bits & 0x7fffu) == Number<T>::exponent;
}
template <class T> TW_FN typename Both<Half<T>, bool>::Type is_finite(T x) {
    return (x.bits & 0x7fffu) < Number<T>::exponent;
}
template <class T> TW_FN typename Both<Half<T>, bool>::Type is_normal(T x) {
    const u32 exponent = x.bits & Number<T>::exponent;
    return exponent != 0 && exponent != Number<T>::exponent;
}
template <class T> TW_FN typename Both<Half<T>, bool>::Type is_sign_negative(T x) { return x.bits >> 15 != 0; }
template <class T> TW_FN typename Both<Half<T>, bool>::Type is_sign_positive(T x) { return x.bits >> 15 == 0; }
template <class T> TW_FN Half<T> copysign(T x, T sign) {
    return {u16((sign.bits & 0x8000u) | (x.bits & 0x7fffu))};
}
template <class T> TW_FN Half<T> signum(T x) { return is_nan(x) ? x : copysign(from_f32<T>(1.0f), x); }
template <class T> TW_FN Half<T> signum(T x, u32) { return signum(x); }
template <class T> TW_FN Half<T> min(T a, T b) { return is_nan(a) || b < a ? b : a; }
template <class T> TW_FN Half<T> max(T a, T b) { return is_nan(a) || b > a ? b : a; }
template <class T> TW_FN Half<T> clamp(T x, T least, T greatest, u32 line) {
    if (TW_UNLIKELY(!(least <= greatest))) fault(line);
    if (x < least) x = least;
    if (x > greatest) x = greatest;
    return x;
}

}  // namespace tw
#endif
