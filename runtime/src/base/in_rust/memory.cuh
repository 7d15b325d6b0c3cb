// The slices, arrays and indices of kernels that were written in Rust.
//
// A read or write beyond the end is a fault: the thread notes its line and ends. The places are `u32 line`
// arguments, the lines of the Rust file.
#ifndef THALWEG_MEMORY
#define THALWEG_MEMORY

#define TW_INLINE __attribute__((always_inline))

namespace tw {

/// Faults unless the index is below the length.
TW_FN void check(usize index, usize length, u32 line) {
    if (TW_UNLIKELY(!(index < length))) fault(line);
}

template <class T, usize N> struct Array;

/// `&[T]`
template <class T> struct Slice {
    const T* data;
    usize length;

    Slice() = default;
    TW_MEMBER Slice(const T* data, usize length) : data(data), length(length) {}
    /// `&array`, where Rust takes it as a slice.
    template <usize N> TW_MEMBER Slice(const Array<T, N>* array) : data(array->a), length(N) {}
    TW_MEMBER usize len() const { return length; }
    TW_MEMBER const T& at(usize index, u32 line) const {
        check(index, length, line);
        return data[index];
    }
    TW_MEMBER const Slice& all() const { return *this; }
    /// `&x[begin..]`
    TW_MEMBER Slice from(usize begin, u32 line) const {
        if (TW_UNLIKELY(begin > length)) fault(line);
        return {data + begin, length - begin};
    }
    /// `&x[begin..end]`
    TW_MEMBER Slice part(usize begin, usize end, u32 line) const {
        if (TW_UNLIKELY(begin > end || end > length)) fault(line);
        return {data + begin, end - begin};
    }
    /// `&x[begin..=last]`
    TW_MEMBER Slice part_with(usize begin, usize last, u32 line) const {
        if (TW_UNLIKELY(last >= length || begin > last + 1)) fault(line);
        return {data + begin, last + 1 - begin};
    }
    TW_MEMBER auto get(usize index) const;
};

/// `Option<&T>`: not a pointer that may be null, since the address would be compared too. The address of an
/// element that is not there is not even computed, since C++ leaves open what that would do.
template <class T> struct Option {
    T* data;
    usize index;
    bool some;

    TW_MEMBER explicit operator bool() const { return some; }
    TW_MEMBER T& operator*() const { return data[index]; }
    TW_MEMBER T* operator->() const { return data + index; }
    TW_MEMBER operator T*() const { return data + index; }
};

template <class T> TW_MEMBER auto Slice<T>::get(usize index) const {
    return Option<const T>{data, index, index < length};
}

/// `[T; N]`
template <class T, usize N> struct Array {
    T a[N];

    TW_MEMBER T& at(usize index, u32 line) {
        check(index, N, line);
        return a[index];
    }
    TW_MEMBER const T& at(usize index, u32 line) const {
        check(index, N, line);
        return a[index];
    }
    TW_MEMBER usize len() const { return N; }
    TW_MEMBER Slice<T> all() const { return {a, N}; }
};

/// `[T; 0]`. C++ has no array without elements; this one has one that nothing reads.
template <class T> struct Array<T, 0> {
    T a[1];

    TW_MEMBER T& at(usize, u32 line) {
        fault(line);
        return a[0];
    }
    TW_MEMBER const T& at(usize, u32 line) const {
        fault(line);
        return a[0];
    }
    TW_MEMBER usize len() const { return 0; }
    TW_MEMBER Slice<T> all() const { return {a, 0}; }
};

template <class T> struct OfArray {};
template <class T, usize N> struct OfArray<Array<T, N>> {
    typedef T Element;
};
/// The type of the elements of an array.
template <class T> using Element = typename OfArray<T>::Element;

template <class T> struct WithoutConst {
    typedef T Is;
};
template <class T> struct WithoutConst<const T> {
    typedef T Is;
};
template <class T> struct WithoutConst<const T&> {
    typedef T Is;
};
template <class T> struct WithoutConst<T&> {
    typedef T Is;
};
/// The type of a value, of which `decltype` may say more.
template <class T> using Plain = typename WithoutConst<T>::Is;
/// A value of which only the type matters: it is never made.
template <class T> TW_DEVICE T value_of();

/// `[a, b, c]`, of a type that C++ finds.
template <class T, class... Rest> TW_FN Array<T, 1 + sizeof...(Rest)> array_of(T first, Rest... rest) {
    return {{first, T(rest)...}};
}

/// `[value; N]`
template <usize N, class T> TW_FN Array<T, N> filled(T value) {
    if constexpr (N == 0) return {};
    Array<T, N> array;
    TW_UNROLL
    for (usize i = 0; i < N; ++i) array.a[i] = value;
    return array;
}

/// `option.copied().unwrap_or(value)`
template <class T>
TW_FN typename WithoutConst<T>::Is copied_or(const Option<T>& option, typename WithoutConst<T>::Is value) {
    return option ? *option : value;
}

/// The value of a block without one.
struct Unit {};

/// `&mut Own<[T]>` and `&mut Out<[T]>`: data of which each thread has the elements of its index.
template <class T, usize D = 1> struct Own {
    T* data;
    Array<usize, D> shape;

    TW_MEMBER usize len() const {
        usize length = 1;
        for (usize d = 0; d < D; ++d) length *= shape.a[d];
        return length;
    }
    TW_MEMBER Option<T> get_mut(const Array<usize, D>& index) const {
        usize place = 0;
        bool inside = true;
        for (usize d = 0; d < D; ++d) {
            inside = inside && index.a[d] < shape.a[d];
            place = place * shape.a[d] + index.a[d];
        }
        return {data, place, inside};
    }
    TW_MEMBER T& any(usize place, u32 line) const {
        check(place, len(), line);
        return data[place];
    }
};

template <class T> struct Own<T, 1> {
    T* data;
    usize length;

    TW_MEMBER usize len() const { return length; }
    TW_MEMBER Option<T> get_mut(usize index) const { return {data, index, index < length}; }
    /// `y.any(i)` and `y.any_mut(i)`, of which the kernel promises that nobody else accesses it.
    TW_MEMBER T& any(usize index, u32 line) const {
        check(index, length, line);
        return data[index];
    }
    TW_MEMBER void put(usize index, T value, u32 line) const {
        check(index, length, line);
        data[index] = value;
    }
};

// The index of the thread, the axis that varies fastest last.
TW_FN usize index() { return usize(blockIdx.x) * blockDim.x + threadIdx.x; }
TW_FN Array<usize, 2> index2() { return {{usize(blockIdx.y) * blockDim.y + threadIdx.y, index()}}; }
TW_FN Array<usize, 3> index3() {
    return {{usize(blockIdx.z) * blockDim.z + threadIdx.z, usize(blockIdx.y) * blockDim.y + threadIdx.y,
             index()}};
}

// --- Loops.

/// The next number of `(from..to).step_by(step)`, or `to` where it would be beyond.
template <class T> TW_FN T stepped(T at, usize step, T to) {
    return usize(u64(to) - u64(at)) > step ? T(u64(at) + step) : to;
}

/// The same for what is as wide as the step, so that the sum itself shows whether it overflows.
TW_FN usize stepped(usize at, usize step, usize to) {
    const usize next = at + step;
    return next < at ? to : next;
}

/// `from..=to`, of which `to` may be the largest number of all.
template <class T> struct Through {
    T at, last;
    bool more;

    TW_MEMBER Through(T from, T to) : at(from), last(to), more(from <= to) {}
    TW_MEMBER void next() {
        if (at == last) more = false;
        else ++at;
    }
};

/// `(from..=to).rev()`
template <class T> struct Backwards {
    T at, last;
    bool more;

    TW_MEMBER Backwards(T from, T to) : at(to), last(from), more(from <= to) {}
    TW_MEMBER void next() {
        if (at == last) more = false;
        else --at;
    }
};

/// The distance of a shift as 32 bits: what does not fit is too far in any case.
template <class T> TW_FN u32 shift(T by) { return u64(by) > 255 ? 255u : u32(by); }

}  // namespace tw
#endif
