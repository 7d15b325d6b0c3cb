// Rust's floats in C++: the operator `%` and methods, under Rust's names.
//
// These have the bits that Rust has on a host, whatever the arguments: `%`, `sqrt`, `mul_add`, `recip`,
// `copysign`, rounding, `clamp`, `signum`, `abs`, classification, `to_degrees`, `to_radians`, `div_euclid`
// and `rem_euclid`. Two things are left open. A NaN is a NaN, but a GPU may change its sign and payload, even
// in `abs` and `-x`. And `min` and `max` of two zeros may be either, in Rust too.
//
// All others, such as `exp`, `ln`, `sin`, `powf`, `cbrt` and `hypot`, are as near as CUDA's documentation
// says, mostly within 2 ulp, and differ from a host's in the last bits.
//
// A kernel that is compiled with `--use_fast_math` has what that option says instead.
#ifndef THALWEG_FLOATS
#define THALWEG_FLOATS

namespace tw {

// Each has an overload for both types in `of_c`. The template takes exactly these types: C++ would convert
// the arguments of an overload silently.
#define TW_UNARY(name, of_f32, of_f64)                                       \
    namespace of_c {                                                         \
    TW_FN f32 name(f32 x) { return ::of_f32(x); }                            \
    TW_FN f64 name(f64 x) { return ::of_f64(x); }                            \
    }                                                                        \
    template <class T> TW_FN Float<T> name(T x) { return of_c::name(x); }
#define TW_BINARY(name, of_f32, of_f64)                                      \
    namespace of_c {                                                         \
    TW_FN f32 name(f32 a, f32 b) { return ::of_f32(a, b); }                  \
    TW_FN f64 name(f64 a, f64 b) { return ::of_f64(a, b); }                  \
    }                                                                        \
    template <class T> TW_FN Float<T> name(T a, T b) { return of_c::name(a, b); }

TW_BINARY(rem, fmodf, fmod)

// --- Comparisons and signs.

// The number comes before a NaN.
TW_BINARY(min, fminf, fmin)
TW_BINARY(max, fmaxf, fmax)
template <class T> TW_FN Float<T> clamp(T x, T least, T greatest, u32 line) {
    // Not `least > greatest`: neither holds if one is NaN.
    if (TW_UNLIKELY(!(least <= greatest))) fault(line);
    if (x < least) x = least;
    if (x > greatest) x = greatest;
    return x;
}
TW_UNARY(abs, fabsf, fabs)
TW_BINARY(copysign, copysignf, copysign)
template <class T> TW_FN Float<T> signum(T x) { return x == x ? copysign(T(1), x) : nan<T>(); }

// --- Rounding.

TW_UNARY(floor, floorf, floor)
TW_UNARY(ceil, ceilf, ceil)
TW_UNARY(trunc, truncf, trunc)
// Halves away from 0.
TW_UNARY(round, roundf, round)
TW_UNARY(round_ties_even, rintf, rint)
template <class T> TW_FN Float<T> fract(T x) { return x - trunc(x); }

// --- Arithmetic.

TW_UNARY(sqrt, sqrtf, sqrt)
TW_UNARY(cbrt, cbrtf, cbrt)
TW_BINARY(hypot, hypotf, hypot)
namespace of_c {
TW_FN f32 mul_add(f32 a, f32 b, f32 c) { return ::fmaf(a, b, c); }
TW_FN f64 mul_add(f64 a, f64 b, f64 c) { return ::fma(a, b, c); }
}  // namespace of_c
template <class T> TW_FN Float<T> mul_add(T a, T b, T c) { return of_c::mul_add(a, b, c); }
template <class T> TW_FN Float<T> recip(T x) { return T(1) / x; }
template <class T> TW_FN Float<T> div_euclid(T a, T b) {
    const T whole = trunc(a / b);
    if (!(rem(a, b) < T(0))) return whole;
    return b > T(0) ? whole - T(1) : whole + T(1);
}
template <class T> TW_FN Float<T> rem_euclid(T a, T b) {
    const T rest = rem(a, b);
    return rest < T(0) ? rest + abs(b) : rest;
}

namespace of_c {
// std writes them so, and divides once only for some.
TW_FN f32 degrees_of_radian(f32) { return 57.2957795130823208767981548141051703f; }
TW_FN f64 degrees_of_radian(f64) { return 180.0 / 3.14159265358979323846264338327950288; }
TW_FN f32 radians_of_degree(f32) { return 3.14159265358979323846264338327950288f / 180.0f; }
TW_FN f64 radians_of_degree(f64) { return 3.14159265358979323846264338327950288 / 180.0; }
}  // namespace of_c
template <class T> TW_FN Float<T> to_degrees(T x) { return x * of_c::degrees_of_radian(x); }
template <class T> TW_FN Float<T> to_radians(T x) { return x * of_c::radians_of_degree(x); }

// --- Powers, exponentials and logarithms.

TW_BINARY(powf, powf, pow)
/// The power by squaring, and then the reciprocal. Rust promises no order of the products, so no bits; a host
/// without optimization multiplies in this order.
template <class T> TW_FN Float<T> powi(T base, Only<i32> exponent) {
    T power = T(1);
    u32 rest = exponent < 0 ? 0u - u32(exponent.value) : u32(exponent.value);
    while (true) {
        if (rest & 1u) power *= base;
        rest >>= 1;
        if (rest == 0) break;
        base *= base;
    }
    return exponent < 0 ? T(1) / power : power;
}
TW_UNARY(exp, expf, exp)
TW_UNARY(exp2, exp2f, exp2)
TW_UNARY(exp_m1, expm1f, expm1)
TW_UNARY(ln, logf, log)
TW_UNARY(ln_1p, log1pf, log1p)
TW_UNARY(log2, log2f, log2)
TW_UNARY(log10, log10f, log10)
template <class T> TW_FN Float<T> log(T x, T base) { return ln(x) / ln(base); }

// --- Trigonometry.

// `asinh`, `acosh` and `atanh` are CUDA's. Those of std lose digits, `acosh` near 1 and `atanh` near -1, and
// overflow above half of the greatest float.

TW_UNARY(sin, sinf, sin)
TW_UNARY(cos, cosf, cos)
TW_UNARY(tan, tanf, tan)
TW_UNARY(asin, asinf, asin)
TW_UNARY(acos, acosf, acos)
TW_UNARY(atan, atanf, atan)
TW_BINARY(atan2, atan2f, atan2)
TW_UNARY(sinh, sinhf, sinh)
TW_UNARY(cosh, coshf, cosh)
TW_UNARY(tanh, tanhf, tanh)
TW_UNARY(asinh, asinhf, asinh)
TW_UNARY(acosh, acoshf, acosh)
TW_UNARY(atanh, atanhf, atanh)
namespace of_c {
TW_FN void sin_cos(f32 x, f32& sin, f32& cos) { ::sincosf(x, &sin, &cos); }
TW_FN void sin_cos(f64 x, f64& sin, f64& cos) { ::sincos(x, &sin, &cos); }
}  // namespace of_c
template <class T> TW_FN Tuple<Float<T>, T> sin_cos(T x) {
    Tuple<T, T> both;
    of_c::sin_cos(x, both._0, both._1);
    return both;
}

#undef TW_UNARY
#undef TW_BINARY

// --- Classification.

/// The bits without the sign.
template <class T> TW_FN Bits<T> magnitude_bits(T x) { return to_bits(x) & ~Number<T>::sign; }

template <class T> TW_FN typename Both<Float<T>, bool>::Type is_nan(T x) {
    return magnitude_bits(x) > Number<T>::exponent;
}
template <class T> TW_FN typename Both<Float<T>, bool>::Type is_finite(T x) {
    return magnitude_bits(x) < Number<T>::exponent;
}
template <class T> TW_FN typename Both<Float<T>, bool>::Type is_infinite(T x) {
    return magnitude_bits(x) == Number<T>::exponent;
}
template <class T> TW_FN typename Both<Float<T>, bool>::Type is_normal(T x) {
    const Bits<T> exponent = to_bits(x) & Number<T>::exponent;
    return exponent != 0 && exponent != Number<T>::exponent;
}
template <class T> TW_FN typename Both<Float<T>, bool>::Type is_sign_negative(T x) {
    return (to_bits(x) & Number<T>::sign) != 0;
}
template <class T> TW_FN typename Both<Float<T>, bool>::Type is_sign_positive(T x) {
    return !is_sign_negative(x);
}

}  // namespace tw
#endif
