// Tiles and rows: parts of data with a shape that a block has for itself.
//
// Tiles are dealt along the axes of the grid, since numbering all of them would need divisions. Of an axis that the
// kernel does not count, the grid has one block.
#ifndef THALWEG_TILES
#define THALWEG_TILES

namespace tw {

template <usize R, usize C> struct Tile {
    usize item, top, left;
};

/// The block's tiles, one after another.
template <usize R, usize C> struct Tiles {
    Array<usize, 3> shape;
    Tile<R, C> at;

    TW_MEMBER explicit Tiles(const Array<usize, 3>& of)
        : shape(of), at{blockIdx.z, usize(blockIdx.y) * R, usize(blockIdx.x) * C} {}
    TW_MEMBER explicit Tiles(const Array<usize, 2>& of) : Tiles(Array<usize, 3>{{1, of.a[0], of.a[1]}}) {}

    TW_MEMBER bool more() const {
        return at.item < shape.a[0] && at.top < shape.a[1] && at.left < shape.a[2];
    }
    TW_MEMBER void next() {
        at.left += usize(gridDim.x) * C;
        if (at.left < shape.a[2]) return;
        at.left = usize(blockIdx.x) * C;
        at.top += usize(gridDim.y) * R;
        if (at.top < shape.a[1]) return;
        at.top = usize(blockIdx.y) * R;
        at.item += gridDim.z;
    }
};

/// The part of a tile that is within the data.
template <class T, usize R, usize C> struct OwnTile {
    T* data;
    usize first, pitch;
    u32 rows, columns;
};

/// How many of `most` elements there are from `from` on.
TW_FN u32 left_of(usize length, usize from, u32 most) {
    if (from >= length) return 0;
    return length - from < most ? u32(length - from) : most;
}

template <usize R, usize C, class T> TW_FN auto tile(const Own<T, 3>& own, const Tile<R, C>& at) {
    const Array<usize, 3>& shape = own.shape;
    const usize first = (at.item * shape.a[1] + at.top) * shape.a[2] + at.left;
    const u32 rows = at.item < shape.a[0] ? left_of(shape.a[1], at.top, R) : 0;
    return OwnTile<T, R, C>{own.data, first, shape.a[2], rows, left_of(shape.a[2], at.left, C)};
}

template <usize R, usize C, class T> TW_FN auto tile(const Own<T, 2>& own, const Tile<R, C>& at) {
    const Array<usize, 2>& shape = own.shape;
    const usize first = at.top * shape.a[1] + at.left;
    const u32 rows = at.item == 0 ? left_of(shape.a[0], at.top, R) : 0;
    return OwnTile<T, R, C>{own.data, first, shape.a[1], rows, left_of(shape.a[1], at.left, C)};
}

template <class T, usize R, usize C, class F> TW_FN void fill(const OwnTile<T, R, C>& tile, F value) {
    const auto is_inside = [&](u32 at) TW_INLINE { return at / u32(C) < tile.rows && at % u32(C) < tile.columns; };
    const auto value_at = [&](u32 at) TW_INLINE {
        if (!is_inside(at)) return T{};
        return T(value(Array<usize, 2>{{at / u32(C), at % u32(C)}}));
    };
    places<T>(u32(R * C), value_at, [&](u32 at, T element) TW_INLINE {
        if (is_inside(at)) tile.data[tile.first + at / u32(C) * tile.pitch + at % u32(C)] = element;
    });
    __syncthreads();
}

/// The elements of a tile that a thread has: `P` rows and `Q` columns of them. Four neighbours of one thread lie beside
/// each other if there are as many, and between one group of four and the next lie those of the other threads. So
/// threads beside each other read a row of shared memory without waiting, four elements at once.
template <usize R, usize C, usize P, usize Q> struct Part {
    static constexpr u32 TALL = P % 4 == 0 ? 4 : 1, WIDE = Q % 4 == 0 ? 4 : 1;
    static constexpr u32 THREADS = u32(R / P * (C / Q)), ACROSS = u32(C / Q);
    u32 down, across;

    TW_MEMBER usize row(usize i, u32 line) const {
        check(i, P, line);
        return u32(i) / TALL * u32(R / P * TALL) + down * TALL + u32(i) % TALL;
    }
    TW_MEMBER usize column(usize j, u32 line) const {
        check(j, Q, line);
        return u32(j) / WIDE * u32(C / Q * WIDE) + across * WIDE + u32(j) % WIDE;
    }
};

/// The part of the thread. Those of a block are as many as the parts.
template <usize P, usize Q, usize R, usize C> TW_FN Part<R, C, P, Q> part(const Tile<R, C>&, u32 line) {
    typedef Part<R, C, P, Q> Its;
    if (TW_UNLIKELY(blockDim.x != Its::THREADS)) fault(line);
    return {threadIdx.x / Its::ACROSS, threadIdx.x % Its::ACROSS};
}

/// Writes the thread's part of a tile.
template <class T, usize R, usize C, usize P, usize Q>
TW_FN void write_part(const OwnTile<T, R, C>& tile, const Array<Array<T, Q>, P>& values, u32 line) {
    const Part<R, C, P, Q> mine = part<P, Q>(Tile<R, C>{0, 0, 0}, line);
    TW_UNROLL
    for (u32 i = 0; i < u32(P); ++i) {
        TW_UNROLL
        for (u32 j = 0; j < u32(Q); ++j) {
            const u32 row = u32(mine.row(i, line)), column = u32(mine.column(j, line));
            if (row < tile.rows && column < tile.columns) {
                tile.data[tile.first + row * tile.pitch + column] = values.a[i].a[j];
            }
        }
    }
}

template <class T, usize R, usize C, class F> TW_FN void fill_parts(const OwnTile<T, R, C>& tile, F value, u32 line) {
    write_part(tile, value(), line);
    __syncthreads();
}

/// The number of the block among all of the grid, and how many there are.
TW_FN usize block_number() { return blockIdx.x + usize(gridDim.x) * (blockIdx.y + usize(gridDim.y) * blockIdx.z); }
TW_FN usize blocks_of_grid() { return usize(gridDim.x) * gridDim.y * gridDim.z; }

/// How many rows with elements there are, along all axes but the last.
template <class T> TW_FN usize rows(const Own<T, 2>& own) { return own.shape.a[1] == 0 ? 0 : own.shape.a[0]; }
template <class T> TW_FN usize rows(const Own<T, 3>& own) {
    return own.shape.a[2] == 0 ? 0 : own.shape.a[0] * own.shape.a[1];
}

/// The elements of a row.
template <class T> struct OwnRow {
    T* data;
    usize first, columns;
};

template <class T, usize D> TW_FN auto row(const Own<T, D>& own, usize row) {
    const usize columns = row < rows(own) ? own.shape.a[D - 1] : 0;
    return OwnRow<T>{own.data, row * columns, columns};
}

template <class T, class F> TW_FN void fill(const OwnRow<T>& row, F value) {
    places<T>(row.columns, [&](usize at) TW_INLINE { return T(value(at)); },
              [&](usize at, T element) TW_INLINE { row.data[row.first + at] = element; });
    __syncthreads();
}

}  // namespace tw

#endif
