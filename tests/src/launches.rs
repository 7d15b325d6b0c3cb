//! Launches of every shape, for kernels that compute the same with any of them.

/// As CUDA's `dim3`.
pub type Dim3 = (u32, u32, u32);

/// A grid, a block, and dynamic shared memory in bytes.
pub type Launch = (Dim3, Dim3, u32);

/// Grids and blocks that are too small, too large, and of one, two and three dimensions; and dynamic shared
/// memory that nothing uses. Only the last launch has blocks of more than 256 threads.
pub const LAUNCHES: [Launch; 9] = [
    ((3, 2, 1), (256, 1, 1), 0),
    ((1, 1, 1), (32, 8, 1), 0),
    ((2, 2, 2), (16, 4, 4), 1000),
    ((1, 1, 1), (1, 1, 1), 0),
    ((7, 1, 1), (33, 1, 1), 17),
    ((1, 5, 3), (5, 13, 3), 0),
    ((100, 100, 10), (255, 1, 1), 0),
    ((1, 1, 5), (1, 1, 64), 0),
    ((100, 10, 2), (1024, 1, 1), 0),
];
