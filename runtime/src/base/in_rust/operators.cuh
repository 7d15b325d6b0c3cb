// The operators and methods that integers have as functions, for the other types too: where only rustc knows a
// type, the translator writes the function, and C++ finds the one for the type.
#ifndef THALWEG_OPERATORS
#define THALWEG_OPERATORS

namespace tw {

// Floats do not overflow, and fault nowhere.
template <class T> TW_FN Float<T> add(T a, T b) { return a + b; }
template <class T> TW_FN Float<T> add(T a, T b, u32) { return a + b; }
template <class T> TW_FN Float<T> sub(T a, T b) { return a - b; }
template <class T> TW_FN Float<T> sub(T a, T b, u32) { return a - b; }
template <class T> TW_FN Float<T> mul(T a, T b) { return a * b; }
template <class T> TW_FN Float<T> mul(T a, T b, u32) { return a * b; }
template <class T> TW_FN Float<T> div(T a, T b, u32) { return a / b; }
template <class T> TW_FN Float<T> rem(T a, T b, u32) { return rem(a, b); }
template <class T> TW_FN Float<T> neg(T x) { return -x; }
template <class T> TW_FN Float<T> neg(T x, u32) { return -x; }
template <class T> TW_FN Float<T> abs(T x, u32) { return abs(x); }
template <class T> TW_FN Float<T> signum(T x, u32) { return signum(x); }
template <class T> TW_FN Float<T> div_euclid(T a, T b, u32) { return div_euclid(a, b); }
template <class T> TW_FN Float<T> rem_euclid(T a, T b, u32) { return rem_euclid(a, b); }

// Integers and `bool` have these.
template <class T> TW_FN typename Number<T>::NoFloat bit_and(T a, T b) { return T(a & b); }
template <class T> TW_FN typename Number<T>::NoFloat bit_or(T a, T b) { return T(a | b); }
template <class T> TW_FN typename Number<T>::NoFloat bit_xor(T a, T b) { return T(a ^ b); }
TW_FN bool not_(bool x) { return !x; }

}  // namespace tw
#endif
