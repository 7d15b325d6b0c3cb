// Values that a block fetches ahead: a fill in two halves.
//
// Each thread has its share in registers between the two. So what it loads is under way while the block computes with
// what was loaded before, and nobody waits for it until it is written.
#ifndef THALWEG_FETCHED
#define THALWEG_FETCHED

namespace tw {

/// The places of an array's elements, by their numbers: along its columns first, or along its rows.
template <class A, bool COLUMNS> struct PlacesOf;

template <class T, usize N, bool COLUMNS> struct PlacesOf<Array<T, N>, COLUMNS> {
    typedef Written<T> Element;
    static constexpr u32 COUNT = u32(N);

    static TW_MEMBER usize at(u32 place) { return place; }
    template <class To> static TW_MEMBER void write(To& array, u32 place, Element element) {
        array.a[place] = element;
    }
};

template <class T, usize R, usize C, bool COLUMNS> struct PlacesOf<Array<Array<T, C>, R>, COLUMNS> {
    typedef Written<T> Element;
    static constexpr u32 COUNT = u32(R * C);

    static TW_MEMBER u32 row(u32 place) { return COLUMNS ? place % u32(R) : place / u32(C); }
    static TW_MEMBER u32 column(u32 place) { return COLUMNS ? place / u32(R) : place % u32(C); }
    static TW_MEMBER Array<usize, 2> at(u32 place) { return {{row(place), column(place)}}; }
    /// The rows may have padding.
    template <class To> static TW_MEMBER void write(To& array, u32 place, Element element) {
        array.a[row(place)].a[column(place)] = element;
    }
};

/// The elements of an array that one of so many threads has.
template <class A, u32 THREADS, bool COLUMNS> struct Fetched {
    typedef PlacesOf<A, COLUMNS> Places;
    static constexpr u32 EACH = (Places::COUNT + THREADS - 1) / THREADS;
    typename Places::Element values[EACH];

    /// The number of the thread's place `i`, which the last threads may not have.
    static TW_MEMBER u32 place(u32 i) { return threadIdx.x + i * THREADS; }
};

/// The thread's share of the elements. What it reads does not change before it is written.
template <class F, class V> TW_FN F fetch(V value) {
    typedef typename F::Places Places;
    F fetched = {};
    TW_UNROLL
    for (u32 i = 0; i < F::EACH; ++i) {
        const u32 place = F::place(i);
        if (place < Places::COUNT) fetched.values[i] = typename Places::Element(value(Places::at(place)));
    }
    return fetched;
}

/// The same of what other threads may write: they wait until it is read.
template <class F, class V> TW_FN F fetch_in_order(V value) {
    const F fetched = fetch<F>(value);
    __syncthreads();
    return fetched;
}

/// Writes all of the array. Whether a thread of the block has ended, as `fill` says it.
template <class To, class A, u32 THREADS, bool COLUMNS>
TW_FN bool fill_fetched(To& array, const Fetched<A, THREADS, COLUMNS>& fetched) {
    typedef Fetched<A, THREADS, COLUMNS> Its;
    TW_UNROLL
    for (u32 i = 0; i < Its::EACH; ++i) {
        const u32 place = Its::place(i);
        if (place < Its::Places::COUNT) Its::Places::write(array, place, fetched.values[i]);
    }
    return has_faulted();
}

}  // namespace tw

#endif
