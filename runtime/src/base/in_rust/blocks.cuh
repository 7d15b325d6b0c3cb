// Blocks of threads that work together: phases, with a barrier after each.
//
// Blocks have one dimension, and so have grids but for those of tiles. A thread that has failed has ended, and barriers
// do not wait for it. What it would have written is left as it was, so a loop that waits for it asks `has_faulted`.
#ifndef THALWEG_BLOCKS
#define THALWEG_BLOCKS

namespace tw {

TW_FN usize rank() { return threadIdx.x; }
TW_FN usize threads() { return blockDim.x; }
TW_FN usize blocks() { return gridDim.x; }
TW_FN usize block_index() { return blockIdx.x; }
TW_FN usize threads_of_grid() { return usize(gridDim.x) * blockDim.x; }

/// Says to the compiler how many threads a block has, which the launch has checked.
template <u32 N> TW_FN void has_threads() {
#ifdef __CUDACC_RTC__
    __builtin_assume(blockDim.x == N);
    __builtin_assume(threadIdx.x < N);
#endif
}

/// Whether a thread of the block has ended.
TW_FN bool has_faulted() { return __syncthreads_count(1) != int(blockDim.x); }

/// Memory that nothing has been written to has unknown numbers, but always the same: without this, a compiler
/// may take each read for another number, and an index for two.
TW_FN void undefined(void* memory) {
#ifdef __CUDACC_RTC__
    asm volatile("" ::"l"(memory) : "memory");
#else
    (void)memory;
#endif
}

template <class F> TW_FN void each(F phase) {
    phase();
    __syncthreads();
}

/// `tile.any(i)` and `tile.any_mut(i)`: an element of a shared array, of which the kernel promises that no other
/// thread writes it, or accesses it, in this phase.
template <class T, usize N> TW_FN T& any(Array<T, N>& array, usize index, u32 line) {
    return array.at(index, line);
}
template <class T, usize R, usize C>
TW_FN T& any(Array<Array<T, C>, R>& array, const Array<usize, 2>& index, u32 line) {
    return array.at(index.a[0], line).at(index.a[1], line);
}

template <class F> TW_FN bool any(F test) { return __syncthreads_or(int(test())) != 0; }
template <class F> TW_FN usize count(F test) { return usize(__syncthreads_count(int(test()))); }

/// The threads share so many places. A thread computes several values before it stores the first of them, so that what
/// they load is under way at the same time.
template <class T, class I, class V, class S> TW_FN void places(I count, V value, S store) {
    constexpr u32 AT_ONCE = 4;
    const u32 threads = blockDim.x;
    for (I first = threadIdx.x; first < count; first += AT_ONCE * threads) {
        T values[AT_ONCE] = {};
        TW_UNROLL
        for (u32 i = 0; i < AT_ONCE; ++i) {
            if (first + i * threads < count) values[i] = value(first + i * threads);
        }
        TW_UNROLL
        for (u32 i = 0; i < AT_ONCE; ++i) {
            if (first + i * threads < count) store(first + i * threads, values[i]);
        }
    }
}

/// Writes all of the array. Whether a thread of the block has ended, of which elements may be missing: what
/// follows them in a loop might never end.
template <class T, usize N, class F> TW_FN bool fill(Array<T, N>& array, F value) {
    places<Written<T>>(u32(N), [&](u32 at) TW_INLINE { return Written<T>(value(usize(at))); },
                       [&](u32 at, Written<T> element) TW_INLINE { array.a[at] = element; });
    return has_faulted();
}

/// The same of `R` rows and `C` columns, along the rows first.
template <class T, usize R, usize C, class Rows, class F> TW_FN bool fill_rows(Rows& array, F value) {
    places<Written<T>>(u32(R * C),
                       [&](u32 at) TW_INLINE { return Written<T>(value(Array<usize, 2>{{at / u32(C), at % u32(C)}})); },
                       [&](u32 at, Written<T> element) TW_INLINE { array.a[at / u32(C)].a[at % u32(C)] = element; });
    return has_faulted();
}

template <class T, usize R, usize C, class F> TW_FN bool fill(Array<Array<T, C>, R>& array, F value) {
    return fill_rows<T, R, C>(array, value);
}

/// The same, along the columns first.
template <class T, usize R, usize C, class Rows, class F> TW_FN bool fill_columns_of(Rows& array, F value) {
    places<Written<T>>(u32(R * C),
                       [&](u32 at) TW_INLINE { return Written<T>(value(Array<usize, 2>{{at % u32(R), at / u32(R)}})); },
                       [&](u32 at, Written<T> element) TW_INLINE { array.a[at % u32(R)].a[at / u32(R)] = element; });
    return has_faulted();
}

template <class T, usize R, usize C, class F> TW_FN bool fill_columns(Array<Array<T, C>, R>& array, F value) {
    return fill_columns_of<T, R, C>(array, value);
}

/// A row of an array in shared memory that is `P` elements longer than it says, so that the elements of a column
/// are in different banks.
template <class T, usize C, usize P> struct Padded : Array<T, C> {
    T padding[P];
};

template <class T, usize R, usize C, usize P, class F> TW_FN bool fill(Array<Padded<T, C, P>, R>& array, F value) {
    return fill_rows<T, R, C>(array, value);
}

template <class T, usize R, usize C, usize P, class F>
TW_FN bool fill_columns(Array<Padded<T, C, P>, R>& array, F value) {
    return fill_columns_of<T, R, C>(array, value);
}

template <class T> struct IsBool { static constexpr bool value = false; };
template <> struct IsBool<bool> { static constexpr bool value = true; };

/// Whether not all bytes are a value, since a `bool` is a part of it. Structs have none.
template <class T> struct HasBool : IsBool<T> {};
template <class T, usize N> struct HasBool<Array<T, N>> : HasBool<T> {};
template <class... T> struct HasBool<Tuple<T...>> { static constexpr bool value = (HasBool<T>::value || ...); };

/// The bytes of a value, as lanes pass them on. A lane that is not there, or that has ended, has any bytes.
template <class T> struct Words {
    u32 words[(sizeof(T) + 3) / 4];

    TW_MEMBER T value() const {
        // Not all bytes are a `bool`.
        if constexpr (IsBool<T>::value) return words[0] != 0;
        T value;
        memcpy(&value, words, sizeof(T));
        return value;
    }
};

/// What the lane `by` further on has.
template <class T> TW_FN Words<T> from_lane(T value, u32 by, u32 lanes) {
    Words<T> other = {};
    memcpy(other.words, &value, sizeof(T));
    for (u32& word : other.words) word = __shfl_down_sync(lanes, word, by);
    return other;
}

/// In lane 0 the values of the first `count` lanes, each combined with that of the lane 16, 8, 4, 2 and 1
/// further on. `lanes` are those of the warp that there are.
template <class T, class F> TW_FN T of_warp(T value, u32 count, u32 lanes, F combine) {
    const u32 lane = threadIdx.x % 32;
    for (u32 by = 16; by > 0; by /= 2) {
        const Words<T> other = from_lane(value, by, lanes);
        if (lane < by && lane + by < count) value = combine(value, other.value());
        count = count < by ? count : by;
    }
    return value;
}

/// The values of all threads, combined in an order that depends on their number alone. If a thread of the block
/// has ended, `ended` says so, and the result is any number.
template <class T, class V, class F> TW_FN T reduce(bool& ended, V value_of, F combine) {
    __shared__ T of_warps[32];
    __shared__ T result;
    const u32 warp = threadIdx.x / 32, left = blockDim.x - warp * 32, count = left < 32 ? left : 32;
    const u32 lanes = 0xffffffffu >> (32 - count);
    T value = value_of();
    // The bytes of a lane that has ended are combined, too, where all bytes are a value.
    if (!HasBool<T>::value || __ballot_sync(lanes, 1) == lanes) value = of_warp(value, count, lanes, combine);
    if (threadIdx.x % 32 == 0) of_warps[warp] = value;
    ended = has_faulted();
    if (ended) return value;
    if (warp == 0) {
        const u32 warps = (blockDim.x + 31) / 32;
        if (threadIdx.x < warps) value = of_warps[threadIdx.x];
        value = of_warp(value, warps, lanes, combine);
        if (threadIdx.x == 0) result = value;
    }
    ended = has_faulted();
    return result;
}

/// The same for a type that the closure tells.
template <class V, class F> TW_FN auto reduce(bool& ended, V value_of, F combine) {
    return reduce<decltype(value_of())>(ended, value_of, combine);
}

}  // namespace tw

#endif
