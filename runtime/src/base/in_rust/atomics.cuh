// Rust's atomics in C++: numbers in shared or global memory that many threads change at once.
//
// CUDA's atomic functions have no order of memory: they are relaxed, and atomic for the whole device. An order
// is a type here, which says where fences stand. `__threadfence` is a sequentially consistent fence of the device,
// as much as any order asks for. Relaxed loads and stores are volatile: one access of the whole word, each time.
#ifndef THALWEG_ATOMICS
#define THALWEG_ATOMICS

namespace tw {

struct Relaxed { static constexpr bool before = false, after = false; };
struct Acquire { static constexpr bool before = false, after = true; };
struct Release { static constexpr bool before = true, after = false; };
struct AcqRel { static constexpr bool before = true, after = true; };
struct SeqCst { static constexpr bool before = true, after = true; };

TW_FN void fence(bool is_needed) {
    if (is_needed) __threadfence();
}

/// What Rust's `compare_exchange` gives: the number that was there, and whether it was the expected one.
template <class T> struct Exchanged {
    T found;
    bool ok;
};

/// The word in which CUDA has an atomic of so many bytes.
template <usize BYTES> struct AtomicWord;
template <> struct AtomicWord<4> { typedef u32 Is; };
template <> struct AtomicWord<8> { typedef u64 Is; };

template <class T> struct IsFloat { static constexpr bool value = false; };
template <> struct IsFloat<f32> { static constexpr bool value = true; };
template <> struct IsFloat<f64> { static constexpr bool value = true; };

/// `AtomicU32` and its like.
template <class T> struct Atomic {
    typedef typename AtomicWord<sizeof(T)>::Is Word;

    /// The bits of the number. Rust's atomics are changed through references that are not `mut`.
    mutable Word word;

    /// A phase that fills an array writes by this: no other thread has the element yet.
    TW_MEMBER void operator=(T value) { word = bits(value); }

    template <class O> TW_MEMBER T load(O) const {
        return of(ordered<O>([&]() TW_INLINE -> Word { return *static_cast<const volatile Word*>(&word); }));
    }

    template <class O> TW_MEMBER void store(T value, O) const {
        ordered<O>([&]() TW_INLINE {
            *static_cast<volatile Word*>(&word) = bits(value);
            return value;
        });
    }

    template <class O> TW_MEMBER T swap(T value, O) const {
        return of(ordered<O>([&]() TW_INLINE { return atomicExch(&word, bits(value)); }));
    }

    /// Sums of integers wrap: those of signed ones have the bits of those of unsigned ones.
    template <class O> TW_MEMBER T fetch_add(T by, O) const {
        if constexpr (IsFloat<T>::value) {
            return ordered<O>([&]() TW_INLINE { return atomicAdd(reinterpret_cast<T*>(&word), by); });
        } else {
            return of(ordered<O>([&]() TW_INLINE { return atomicAdd(&word, bits(by)); }));
        }
    }

    template <class O> TW_MEMBER T fetch_sub(T by, O order) const {
        if constexpr (IsFloat<T>::value) {
            return fetch_add(-by, order);
        } else {
            return fetch_add(of(Word(0) - bits(by)), order);
        }
    }

    template <class O> TW_MEMBER T fetch_and(T by, O) const {
        return of(ordered<O>([&]() TW_INLINE { return atomicAnd(&word, bits(by)); }));
    }

    template <class O> TW_MEMBER T fetch_or(T by, O) const {
        return of(ordered<O>([&]() TW_INLINE { return atomicOr(&word, bits(by)); }));
    }

    template <class O> TW_MEMBER T fetch_xor(T by, O) const {
        return of(ordered<O>([&]() TW_INLINE { return atomicXor(&word, bits(by)); }));
    }

    template <class O> TW_MEMBER T fetch_min(T by, O) const {
        return ordered<O>([&]() TW_INLINE {
            if constexpr (IsFloat<T>::value) return fetch_chosen([=](T now) TW_INLINE { return min(now, by); });
            else return atomicMin(reinterpret_cast<T*>(&word), by);
        });
    }

    template <class O> TW_MEMBER T fetch_max(T by, O) const {
        return ordered<O>([&]() TW_INLINE {
            if constexpr (IsFloat<T>::value) return fetch_chosen([=](T now) TW_INLINE { return max(now, by); });
            else return atomicMax(reinterpret_cast<T*>(&word), by);
        });
    }

    /// What the access gives, between the fences of its order.
    template <class O, class A> TW_MEMBER static auto ordered(A access) {
        fence(O::before);
        const auto found = access();
        fence(O::after);
        return found;
    }

    /// Floats are compared by their bits.
    template <class S, class F> TW_MEMBER Exchanged<T> compare_exchange(T expected, T value, S, F) const {
        const Word wanted = bits(expected);
        fence(S::before || F::before);
        const Word found = atomicCAS(&word, wanted, bits(value));
        fence(S::after || F::after);
        return {of(found), found == wanted};
    }

    TW_MEMBER static Word bits(T value) {
        if constexpr (IsFloat<T>::value) return to_bits(value);
        else return Word(value);
    }

    TW_MEMBER static T of(Word word) {
        if constexpr (IsFloat<T>::value) return from_bits<T>(word);
        else return T(word);
    }

    /// Writes what `choose` makes of the number. CUDA has no `atomicMin` and `atomicMax` of floats.
    template <class C> TW_MEMBER T fetch_chosen(C choose) const {
        Word now = *static_cast<const volatile Word*>(&word);
        while (true) {
            const Word chosen = bits(choose(of(now)));
            // Most numbers are no new least or greatest one.
            if (chosen == now) break;
            const Word found = atomicCAS(&word, now, chosen);
            if (found == now) break;
            now = found;
        }
        return of(now);
    }
};

/// What is written to an element of shared memory: the number, for an atomic.
template <class T> struct WrittenAs { typedef T Is; };
template <class T> struct WrittenAs<Atomic<T>> { typedef T Is; };
template <class T> using Written = typename WrittenAs<T>::Is;

}  // namespace tw
#endif
