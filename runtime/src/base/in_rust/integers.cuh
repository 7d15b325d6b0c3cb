// Rust's integers in C++: operators and methods, under Rust's names.
//
// C++ leaves the overflow of signed integers undefined, and computes narrow ones as `int`; so everything that
// may overflow is computed in an unsigned integer of at least 32 bits, `Wide<T>`. Where a function has a
// `u32 line`, it faults as Rust panics; what panics in debug builds only has the function without a line too,
// which wraps as a release build does.
#ifndef THALWEG_INTEGERS
#define THALWEG_INTEGERS

namespace tw {

// --- What the operators and methods are made of.

/// Its bits, in a type in which C++ computes as Rust does.
template <class T> TW_FN Wide<T> wide(T x) { return Wide<T>(AsUnsigned<T>(x)); }

/// Whether it is below 0.
template <class T> TW_FN bool negative(T x) {
    return Number<T>::is_signed && AsUnsigned<T>(x) >> (Number<T>::bits - 1) != 0;
}

/// Whether it is -1, by which the least integer cannot be divided.
template <class T> TW_FN bool minus_one(T x) { return Number<T>::is_signed && x == T(-1); }

template <class T> TW_FN Integer<T> wrapping_add(T a, T b) { return T(wide(a) + wide(b)); }
template <class T> TW_FN Integer<T> wrapping_sub(T a, T b) { return T(wide(a) - wide(b)); }
template <class T> TW_FN Integer<T> wrapping_mul(T a, T b) { return T(wide(a) * wide(b)); }
template <class T> TW_FN Integer<T> wrapping_neg(T x) { return T(0 - wide(x)); }

// The wrapped result, and whether it differs from the exact one.

template <class T> TW_FN bool add_wraps(T a, T b, T& sum) {
    sum = wrapping_add(a, b);
    // The sign differs from that of both, which have the same.
    return Number<T>::is_signed ? negative(T((a ^ sum) & (b ^ sum))) : sum < a;
}

template <class T> TW_FN bool sub_wraps(T a, T b, T& difference) {
    difference = wrapping_sub(a, b);
    return Number<T>::is_signed ? negative(T((a ^ b) & (a ^ difference))) : a < b;
}

template <class T> TW_FN bool mul_wraps(T a, T b, T& product) {
    typedef typename Number<T>::Double Double;
    const Double exact = Double(a) * Double(b);
    product = T(exact);
    return Double(product) != exact;
}
TW_FN bool mul_wraps(u64 a, u64 b, u64& product) {
    product = a * b;
    return machine::high(a, b) != 0;
}
TW_FN bool mul_wraps(i64 a, i64 b, i64& product) {
    product = wrapping_mul(a, b);
    return machine::high(a, b) != (product < 0 ? -1 : 0);
}

template <class T> TW_FN bool pow_wraps(T base, u32 exponent, T& power) {
    bool wraps = false;
    power = 1;
    while (true) {
        if (exponent & 1u) wraps |= mul_wraps(power, base, power);
        exponent >>= 1;
        // The next square is of use only if there is more to multiply, so if it wraps, the power does.
        if (exponent == 0) return wraps;
        wraps |= mul_wraps(base, base, base);
    }
}

// Quotients and remainders by what is not 0, and not of the least integer by -1. A GPU divides 64 bits in
// more than a hundred instructions; NVRTC writes a test before them, and divides in 32 bits where both fit.
// It divides once for `a / b` and `a % b`.

template <class T> TW_FN T quotient(T a, T b) { return T(a / b); }
template <class T> TW_FN T remainder(T a, T b) { return T(a % b); }

/// Whether `a / b` panics.
template <class T> TW_FN bool division_faults(T a, T b) {
    return b == 0 || (minus_one(b) && a == Number<T>::least);
}

// --- Operators.

template <class T> TW_FN Integer<T> add(T a, T b) { return wrapping_add(a, b); }
template <class T> TW_FN Integer<T> sub(T a, T b) { return wrapping_sub(a, b); }
template <class T> TW_FN Integer<T> mul(T a, T b) { return wrapping_mul(a, b); }
template <class T> TW_FN Signed<T> neg(T x) { return wrapping_neg(x); }
template <class T> TW_FN Integer<T> not_(T x) { return T(~x); }

template <class T> TW_FN Integer<T> add(T a, T b, u32 line) {
    T sum;
    if (TW_UNLIKELY(add_wraps(a, b, sum))) fault(line);
    return sum;
}
template <class T> TW_FN Integer<T> sub(T a, T b, u32 line) {
    T difference;
    if (TW_UNLIKELY(sub_wraps(a, b, difference))) fault(line);
    return difference;
}
template <class T> TW_FN Integer<T> mul(T a, T b, u32 line) {
    T product;
    if (TW_UNLIKELY(mul_wraps(a, b, product))) fault(line);
    return product;
}
template <class T> TW_FN Signed<T> neg(T x, u32 line) {
    if (TW_UNLIKELY(x == Number<T>::least)) fault(line);
    return wrapping_neg(x);
}

template <class T> TW_FN Integer<T> div(T a, T b, u32 line) {
    if (TW_UNLIKELY(division_faults(a, b))) {
        fault(line);
        return 0;
    }
    return quotient(a, b);
}
template <class T> TW_FN Integer<T> rem(T a, T b, u32 line) {
    if (TW_UNLIKELY(division_faults(a, b))) {
        fault(line);
        return 0;
    }
    return remainder(a, b);
}

template <class T> TW_FN Integer<T> wrapping_shl(T x, Only<u32> by) {
    return T(wide(x) << (by & (Number<T>::bits - 1)));
}
template <class T> TW_FN Integer<T> wrapping_shr(T x, Only<u32> by) {
    return T(x >> (by & (Number<T>::bits - 1)));
}
template <class T> TW_FN Integer<T> shl(T x, Only<u32> by) { return wrapping_shl(x, by); }
template <class T> TW_FN Integer<T> shr(T x, Only<u32> by) { return wrapping_shr(x, by); }
template <class T> TW_FN Integer<T> shl(T x, Only<u32> by, u32 line) {
    if (TW_UNLIKELY(by >= Number<T>::bits)) fault(line);
    return wrapping_shl(x, by);
}
template <class T> TW_FN Integer<T> shr(T x, Only<u32> by, u32 line) {
    if (TW_UNLIKELY(by >= Number<T>::bits)) fault(line);
    return wrapping_shr(x, by);
}

// --- Comparisons and signs.

template <class T> TW_FN Integer<T> min(T a, T b) { return b < a ? b : a; }
template <class T> TW_FN Integer<T> max(T a, T b) { return a < b ? b : a; }
template <class T> TW_FN Integer<T> clamp(T x, T least, T greatest, u32 line) {
    if (TW_UNLIKELY(greatest < least)) fault(line);
    return x < least ? least : greatest < x ? greatest : x;
}

/// `a.min(b)` and `a.max(b)` of references.
template <class T> TW_FN const T* lesser(const T* a, const T* b) { return *b < *a ? b : a; }
template <class T> TW_FN const T* greater(const T* a, const T* b) { return *a < *b ? b : a; }

template <class T> TW_FN Signed<T> wrapping_abs(T x) { return negative(x) ? wrapping_neg(x) : x; }
template <class T> TW_FN Signed<T> abs(T x) { return wrapping_abs(x); }
template <class T> TW_FN Signed<T> abs(T x, u32 line) {
    if (TW_UNLIKELY(x == Number<T>::least)) fault(line);
    return wrapping_abs(x);
}
template <class T> TW_FN AsUnsigned<Signed<T>> unsigned_abs(T x) { return AsUnsigned<T>(wrapping_abs(x)); }
template <class T> TW_FN AsUnsigned<T> abs_diff(T a, T b) {
    return AsUnsigned<T>(a < b ? wide(b) - wide(a) : wide(a) - wide(b));
}
template <class T> TW_FN Signed<T> signum(T x) { return T(i32(x > 0) - i32(x < 0)); }
template <class T> TW_FN typename Both<Signed<T>, bool>::Type is_positive(T x) { return x > 0; }
template <class T> TW_FN typename Both<Signed<T>, bool>::Type is_negative(T x) { return x < 0; }

// --- Arithmetic.

template <class T> TW_FN Integer<T> wrapping_div(T a, T b, u32 line) {
    if (TW_UNLIKELY(b == 0)) {
        fault(line);
        return 0;
    }
    return minus_one(b) ? wrapping_neg(a) : quotient(a, b);
}
template <class T> TW_FN Integer<T> wrapping_rem(T a, T b, u32 line) {
    if (TW_UNLIKELY(b == 0)) {
        fault(line);
        return 0;
    }
    return minus_one(b) ? T(0) : remainder(a, b);
}

template <class T> TW_FN Integer<T> saturating_add(T a, T b) {
    T sum;
    if (!add_wraps(a, b, sum)) return sum;
    return negative(a) ? Number<T>::least : Number<T>::greatest;
}
template <class T> TW_FN Integer<T> saturating_sub(T a, T b) {
    T difference;
    if (!sub_wraps(a, b, difference)) return difference;
    return !Number<T>::is_signed || negative(a) ? Number<T>::least : Number<T>::greatest;
}
template <class T> TW_FN Integer<T> saturating_mul(T a, T b) {
    T product;
    if (!mul_wraps(a, b, product)) return product;
    return negative(a) != negative(b) ? Number<T>::least : Number<T>::greatest;
}

template <class T> TW_FN Integer<T> wrapping_pow(T base, Only<u32> exponent) {
    T power = 1;
    u32 rest = exponent;
    while (true) {
        if (rest & 1u) power = wrapping_mul(power, base);
        rest >>= 1;
        if (rest == 0) return power;
        base = wrapping_mul(base, base);
    }
}
template <class T> TW_FN Integer<T> pow(T base, Only<u32> exponent) { return wrapping_pow(base, exponent); }
template <class T> TW_FN Integer<T> pow(T base, Only<u32> exponent, u32 line) {
    T power;
    if (TW_UNLIKELY(pow_wraps(base, exponent.value, power))) fault(line);
    return power;
}
template <class T> TW_FN Integer<T> saturating_pow(T base, Only<u32> exponent) {
    T power;
    if (!pow_wraps(base, exponent.value, power)) return power;
    return negative(base) && (exponent & 1u) != 0 ? Number<T>::least : Number<T>::greatest;
}

template <class T> TW_FN Integer<T> div_euclid(T a, T b, u32 line) {
    if (TW_UNLIKELY(division_faults(a, b))) {
        fault(line);
        return 0;
    }
    const T whole = quotient(a, b);
    const T rest = wrapping_sub(a, wrapping_mul(whole, b));
    if (!negative(rest)) return whole;
    return negative(b) ? wrapping_add(whole, T(1)) : wrapping_sub(whole, T(1));
}
template <class T> TW_FN Integer<T> rem_euclid(T a, T b, u32 line) {
    if (TW_UNLIKELY(division_faults(a, b))) {
        fault(line);
        return 0;
    }
    const T rest = remainder(a, b);
    if (!negative(rest)) return rest;
    return negative(b) ? wrapping_sub(rest, b) : wrapping_add(rest, b);
}

template <class T> TW_FN Unsigned<T> div_ceil(T a, T b, u32 line) {
    if (TW_UNLIKELY(b == 0)) {
        fault(line);
        return 0;
    }
    const T whole = quotient(a, b);
    return T(whole + (wrapping_mul(whole, b) != a ? 1u : 0u));
}
/// Wraps where the multiple is too great, as a release build does.
template <class T> TW_FN Unsigned<T> next_multiple_of(T a, T b, u32 line) {
    const T rest = rem(a, b, line);
    return rest == 0 ? a : wrapping_add(a, T(b - rest));
}
/// Faults where the multiple is too great, as a debug build does.
template <class T> TW_FN Unsigned<T> next_multiple_of(T a, T b, u32 line, u32 line_of_overflow) {
    const T rest = rem(a, b, line);
    return rest == 0 ? a : add(a, T(b - rest), line_of_overflow);
}

/// Of 0 only 0 is a multiple.
template <class T> TW_FN typename Both<Unsigned<T>, bool>::Type is_multiple_of(T a, T b) {
    return b == 0 ? a == 0 : wrapping_mul(quotient(a, b), b) == a;
}

// --- Bits.

template <class T> TW_FN typename Both<Integer<T>, u32>::Type count_ones(T x) {
    return machine::ones(wide(x));
}
template <class T> TW_FN typename Both<Integer<T>, u32>::Type count_zeros(T x) {
    return Number<T>::bits - machine::ones(wide(x));
}
template <class T> TW_FN typename Both<Integer<T>, u32>::Type leading_zeros(T x) {
    return machine::leading_zeros(wide(x)) - (Number<T>::wide_bits - Number<T>::bits);
}
template <class T> TW_FN typename Both<Integer<T>, u32>::Type trailing_zeros(T x) {
    // The bits below the lowest that is set; of 0, all that the type has.
    const Wide<T> bits = wide(x) | Number<T>::outside;
    return machine::ones(Wide<T>(~bits & (bits - 1)));
}
template <class T> TW_FN typename Both<Integer<T>, u32>::Type leading_ones(T x) {
    return leading_zeros(not_(x));
}
template <class T> TW_FN typename Both<Integer<T>, u32>::Type trailing_ones(T x) {
    return trailing_zeros(not_(x));
}

template <class T> TW_FN Integer<T> rotate_left(T x, Only<u32> by) {
    const u32 last = Number<T>::bits - 1;
    return T(wide(x) << (by & last) | wide(x) >> ((0u - by) & last));
}
template <class T> TW_FN Integer<T> rotate_right(T x, Only<u32> by) {
    const u32 last = Number<T>::bits - 1;
    return T(wide(x) >> (by & last) | wide(x) << ((0u - by) & last));
}

namespace machine {
// In Rust's order, the first byte last.
TW_FN u32 bytes_swapped(u32 x) {
    return x >> 24 | (x >> 8 & 0xff00u) | (x << 8 & 0xff0000u) | x << 24;
}
TW_FN u64 bytes_swapped(u64 x) {
    return u64(bytes_swapped(u32(x))) << 32 | bytes_swapped(u32(x >> 32));
}
}  // namespace machine

template <class T> TW_FN Integer<T> swap_bytes(T x) {
    return T(machine::bytes_swapped(wide(x)) >> (Number<T>::wide_bits - Number<T>::bits));
}
template <class T> TW_FN Integer<T> reverse_bits(T x) {
    return T(machine::reversed(wide(x)) >> (Number<T>::wide_bits - Number<T>::bits));
}

template <class T> TW_FN typename Both<Unsigned<T>, bool>::Type is_power_of_two(T x) {
    return x != 0 && (x & (x - 1)) == 0;
}

/// The power of two less 1, which every type has.
template <class T> TW_FN T below_next_power_of_two(T x) {
    return x <= 1 ? T(0) : T(Number<T>::greatest >> leading_zeros(T(x - 1)));
}
template <class T> TW_FN Unsigned<T> next_power_of_two(T x) {
    return wrapping_add(below_next_power_of_two(x), T(1));
}
template <class T> TW_FN Unsigned<T> next_power_of_two(T x, u32 line) {
    return add(below_next_power_of_two(x), T(1), line);
}

// --- Roots and logarithms.

namespace machine {
// The root of the nearest float is off by less than 1.
TW_FN u32 root(u32 x) {
    u32 root = u32(::sqrtf(f32(x)));
    if (root > 0xffffu) root = 0xffffu;
    if (root * root > x) --root;
    return root < 0xffffu && (root + 1) * (root + 1) <= x ? root + 1 : root;
}
TW_FN u64 root(u64 x) {
    u64 root = u64(::sqrt(f64(x)));
    if (root > 0xffffffffull) root = 0xffffffffull;
    if (root * root > x) --root;
    return root < 0xffffffffull && (root + 1) * (root + 1) <= x ? root + 1 : root;
}

TW_FN u32 log10(u32 x) {
    return u32(x >= 10u) + u32(x >= 100u) + u32(x >= 1000u) + u32(x >= 10000u) + u32(x >= 100000u) +
           u32(x >= 1000000u) + u32(x >= 10000000u) + u32(x >= 100000000u) + u32(x >= 1000000000u);
}
TW_FN u32 log10(u64 x) {
    if (x >= 10000000000ull) return 10u + log10(u32(x / 10000000000ull));
    return x >> 32 != 0 ? 9u : log10(u32(x));
}
}  // namespace machine

template <class T> TW_FN Unsigned<T> isqrt(T x) { return T(machine::root(wide(x))); }

template <class T> TW_FN typename Both<Integer<T>, u32>::Type ilog2(T x, u32 line) {
    if (TW_UNLIKELY(x == 0 || negative(x))) fault(line);
    return Number<T>::bits - 1 - leading_zeros(x);
}
template <class T> TW_FN typename Both<Integer<T>, u32>::Type ilog10(T x, u32 line) {
    if (TW_UNLIKELY(x == 0 || negative(x))) fault(line);
    return machine::log10(wide(x));
}

}  // namespace tw
#endif
