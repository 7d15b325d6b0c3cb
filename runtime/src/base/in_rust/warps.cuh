// Operations of warps, each of which is a phase with a barrier after it.
//
// The last warp of a block may have fewer than 32 threads. The masks are of the lanes that there are. If a thread of
// the block has ended, `ended` says so, and the result is any value.
#ifndef THALWEG_WARPS
#define THALWEG_WARPS

namespace tw {

TW_FN usize lane() { return threadIdx.x % 32; }
TW_FN usize warp() { return threadIdx.x / 32; }

/// The number of lanes that this warp has.
TW_FN u32 count_of_lanes() {
    const u32 left = blockDim.x - threadIdx.x / 32 * 32;
    return left < 32 ? left : 32;
}

/// The mask of so many lanes.
TW_FN u32 first_lanes(u32 count) { return 0xffffffffu >> (32 - count); }

/// Whether none of the lanes has ended. One that has gives no value to others.
TW_FN bool are_there(u32 lanes) { return __ballot_sync(lanes, 1) == lanes; }

/// The value of another lane of these.
template <class T> TW_FN T of_lane(T value, u32 lane, u32 lanes) {
    constexpr u32 WORDS = (sizeof(T) + 3) / 4;
    u32 words[WORDS] = {};
    memcpy(words, &value, sizeof(T));
    for (u32 word = 0; word < WORDS; ++word) words[word] = __shfl_sync(lanes, words[word], int(lane));
    memcpy(&value, words, sizeof(T));
    return value;
}

/// The value of the lane `by` before this one. The first `by` lanes get any value.
template <class T> TW_FN T from_lane_before(T value, u32 by, u32 lanes) {
    constexpr u32 WORDS = (sizeof(T) + 3) / 4;
    u32 words[WORDS] = {};
    memcpy(words, &value, sizeof(T));
    for (u32 word = 0; word < WORDS; ++word) words[word] = __shfl_up_sync(lanes, words[word], by);
    memcpy(&value, words, sizeof(T));
    return value;
}

/// The values of the lanes up to this one, combined. `lanes` are those of the warp that there are.
template <class T, class F> TW_FN T scan_of_warp(T value, u32 lanes, F combine) {
    const u32 lane = threadIdx.x % 32;
    TW_UNROLL
    for (u32 by = 1; by < 32; by *= 2) {
        const T other = from_lane_before(value, by, lanes);
        if (lane >= by) value = combine(other, value);
    }
    return value;
}

/// The value of the lane that `source_of` names.
template <class T, class V, class S> TW_FN T shuffle(bool& ended, V value_of, S source_of, u32 line) {
    const u32 count = count_of_lanes(), lanes = first_lanes(count);
    T value = value_of();
    const usize source = source_of();
    if (TW_UNLIKELY(!(source < count))) fault(line);
    if (are_there(lanes)) value = of_lane(value, u32(source), lanes);
    ended = has_faulted();
    return value;
}

template <class V, class S> TW_FN auto shuffle(bool& ended, V value_of, S source_of, u32 line) {
    return shuffle<decltype(value_of())>(ended, value_of, source_of, line);
}

/// The value of the lane that `source_of` makes of the thread's own and of the number of lanes: one that the warp
/// has.
template <class T, class V, class S> TW_FN T shuffle_by(bool& ended, V value_of, S source_of) {
    const u32 count = count_of_lanes(), lanes = first_lanes(count), own = threadIdx.x % 32;
    T value = value_of();
    if (are_there(lanes)) value = of_lane(value, source_of(own, count), lanes);
    ended = has_faulted();
    return value;
}

template <class T, class V> TW_FN T shuffle_up(bool& ended, V value_of, usize by) {
    return shuffle_by<T>(ended, value_of, [=](u32 own, u32) TW_INLINE { return by <= own ? own - u32(by) : own; });
}
template <class V> TW_FN auto shuffle_up(bool& ended, V value_of, usize by) {
    return shuffle_up<decltype(value_of())>(ended, value_of, by);
}

template <class T, class V> TW_FN T shuffle_down(bool& ended, V value_of, usize by) {
    return shuffle_by<T>(ended, value_of,
                         [=](u32 own, u32 count) TW_INLINE { return by < count - own ? own + u32(by) : own; });
}
template <class V> TW_FN auto shuffle_down(bool& ended, V value_of, usize by) {
    return shuffle_down<decltype(value_of())>(ended, value_of, by);
}

template <class T, class V> TW_FN T shuffle_xor(bool& ended, V value_of, usize mask) {
    return shuffle_by<T>(ended, value_of,
                         [=](u32 own, u32 count) TW_INLINE { return (own ^ mask) < count ? own ^ u32(mask) : own; });
}
template <class V> TW_FN auto shuffle_xor(bool& ended, V value_of, usize mask) {
    return shuffle_xor<decltype(value_of())>(ended, value_of, mask);
}

template <class F> TW_FN u32 ballot(bool& ended, F test) {
    const u32 lanes = first_lanes(count_of_lanes());
    const u32 yes = __ballot_sync(lanes, int(test()));
    ended = has_faulted();
    return yes;
}

template <class F> TW_FN bool warp_any(bool& ended, F test) {
    const bool yes = __any_sync(first_lanes(count_of_lanes()), int(test())) != 0;
    ended = has_faulted();
    return yes;
}

template <class F> TW_FN bool warp_all(bool& ended, F test) {
    const bool yes = __all_sync(first_lanes(count_of_lanes()), int(test())) != 0;
    ended = has_faulted();
    return yes;
}

/// The values of all lanes, combined as `reduce` does it.
template <class T, class V, class F> TW_FN T warp_reduce(bool& ended, V value_of, F combine) {
    const u32 count = count_of_lanes(), lanes = first_lanes(count);
    T value = value_of();
    if (are_there(lanes)) value = of_lane(of_warp(value, count, lanes, combine), 0, lanes);
    ended = has_faulted();
    return value;
}
template <class V, class F> TW_FN auto warp_reduce(bool& ended, V value_of, F combine) {
    return warp_reduce<decltype(value_of())>(ended, value_of, combine);
}

/// The values of the lanes up to this one, combined as `scan` does it.
template <class T, class V, class F> TW_FN T warp_scan(bool& ended, V value_of, F combine) {
    const u32 lanes = first_lanes(count_of_lanes());
    T value = value_of();
    if (are_there(lanes)) value = scan_of_warp(value, lanes, combine);
    ended = has_faulted();
    return value;
}
template <class V, class F> TW_FN auto warp_scan(bool& ended, V value_of, F combine) {
    return warp_scan<decltype(value_of())>(ended, value_of, combine);
}

}  // namespace tw

#endif
