// Shared memory whose size the launch says: slices of it that lie one after the other.
#ifndef THALWEG_DYNAMIC
#define THALWEG_DYNAMIC

namespace tw {

/// Ends the threads of a block for which the launch has too little shared memory. It needs so many bytes: 0 stands
/// for a slice without elements, and the greatest number for that many or more.
static TW_DEVICE void too_little(u32 line, u32 needed, u32 given);

/// The bytes that the launch gives.
TW_FN u32 shared_given() {
    u32 bytes;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
    return bytes;
}

/// `block.shared_bytes()`
TW_FN usize shared_bytes() { return shared_given(); }

/// The first byte, which is aligned for every type.
TW_FN unsigned char* shared_memory() {
    extern __shared__ __align__(16) unsigned char thalweg_dynamic[];
    return thalweg_dynamic;
}

/// `block.shared_slice::<T>(n)`, and the byte at which the next slice may begin.
template <class T> struct SharedSlice : Slice<T> {
    u32 end;
};

/// A slice of so many elements, at the first place from the byte `after` on that is aligned for them. All threads of
/// the block ask for the same.
template <class T> TW_FN SharedSlice<T> shared_slice(u32 after, usize length, u32 line) {
    constexpr u64 MOST = 0xffffffffull, SIZE = sizeof(T), ALIGN = alignof(T);
    const u64 start = (after + ALIGN - 1) / ALIGN * ALIGN;
    const bool is_any = length <= MOST / SIZE && start + length * SIZE < MOST;
    const u32 end = is_any ? u32(start + length * SIZE) : u32(MOST);
    const u32 given = shared_given();
    if (TW_UNLIKELY(length == 0 || end > given)) too_little(line, length == 0 ? 0 : end, given);
    return {{reinterpret_cast<const T*>(shared_memory() + start), length}, end};
}

/// `slice.any(i)` and `slice.any_mut(i)`, as of a shared array.
template <class T> TW_FN T& any(const SharedSlice<T>& slice, usize index, u32 line) {
    check(index, slice.length, line);
    return const_cast<T*>(slice.data)[index];
}

/// Writes all of the slice, as of a shared array.
template <class T, class F> TW_FN bool fill(const SharedSlice<T>& slice, F value) {
    T* const elements = const_cast<T*>(slice.data);
    places<Written<T>>(u32(slice.length), [&](u32 at) TW_INLINE { return Written<T>(value(usize(at))); },
                       [&](u32 at, Written<T> element) TW_INLINE { elements[at] = element; });
    return has_faulted();
}

}  // namespace tw

#endif
