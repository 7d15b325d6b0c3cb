// Scans: each thread of a block gets the values of the threads before it, combined.
//
// The order depends on a thread's rank alone. In a warp, each value is combined with the one 1, 2, 4, 8 and 16 lanes
// before it. Then those of the warps before are put in front, which are combined one after another.
#ifndef THALWEG_SCANS
#define THALWEG_SCANS

namespace tw {

/// The values of the threads up to this one, combined. If a thread of the block has ended, `ended` says so, and the
/// result is any value.
template <class T, class V, class F> TW_FN T scan(bool& ended, V value_of, F combine) {
    __shared__ T of_warps[32];
    const u32 warp = threadIdx.x / 32, count = count_of_lanes(), lanes = first_lanes(count);
    T value = value_of();
    if (are_there(lanes)) value = scan_of_warp(value, lanes, combine);
    if (threadIdx.x % 32 == count - 1) of_warps[warp] = value;
    ended = has_faulted();
    if (ended) return value;
    if (warp > 0) {
        T before = of_warps[0];
        for (u32 other = 1; other < warp; ++other) before = combine(before, of_warps[other]);
        value = combine(before, value);
    }
    // The block's next scan writes what this one reads.
    ended = has_faulted();
    return value;
}

/// The same for a type that the closure tells.
template <class V, class F> TW_FN auto scan(bool& ended, V value_of, F combine) {
    return scan<decltype(value_of())>(ended, value_of, combine);
}

/// `start` and the values of the threads before this one, combined, and `start` and those of all threads.
template <class T, class V, class F> TW_FN Tuple<T, T> scan_exclusive(bool& ended, T start, V value_of, F combine) {
    __shared__ T of_warps[32];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, count = count_of_lanes(), lanes = first_lanes(count);
    T value = value_of(), before = value;
    if (are_there(lanes)) {
        value = scan_of_warp(value, lanes, combine);
        before = from_lane_before(value, 1, lanes);
    }
    if (lane == count - 1) of_warps[warp] = value;
    ended = has_faulted();
    if (ended) return {start, start};
    T all = of_warps[0];
    for (u32 other = 1; other < (blockDim.x + 31) / 32; ++other) {
        if (other == warp) before = lane == 0 ? all : combine(all, before);
        all = combine(all, of_warps[other]);
    }
    before = threadIdx.x == 0 ? start : combine(start, before);
    all = combine(start, all);
    ended = has_faulted();
    return {before, all};
}

}  // namespace tw

#endif
